package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/cluster/shards"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

const poolHelp = `Show how several daemons share one budget: what part each has, how many sources, and
what one more poll is worth to it (PRICE). Parts move slowly to where that is most. At no
time do all daemons together make more polls than the budget allows.

To share a budget, start each daemon with the same pool and its own shard:

  freshet serve --pool postgres://freshet@db/pool --shard 1/3 --budget 600/m

The pool is a PostgreSQL database with one small table. Each daemon keeps its sources and
history where it does without a pool, and polls the hosts of its shard: all hosts of a
domain are in one. Give all of them the same configuration file, and each takes its own
sources of it.`

const forgetHelp = `Free a shard whose store is lost, so that a daemon with another store can run as this
shard. Stop the daemon that ran as it first, and wait for two minutes: a shard that has
spoken of late is not freed, because its daemon would make polls beside the new one.`

const growHelp = `Make room for more shards in a pool. Stop all its daemons first, and start all of them with
the new number afterwards:

  freshet pool grow 3 --pool postgres://freshet@db/pool
  freshet serve --pool postgres://freshet@db/pool --shard 1/3 ...

Those that were there poll on at once, with less of the budget. A new one gets its part when
they have given it up, after the time that the budget counts over. Many hosts go to other
shards by it: docs/cluster.md says how to keep their history.`

func poolVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "pool",
		Short:   "Show how several daemons share one budget",
		Long:    poolHelp,
		Example: "  freshet pool --pool postgres://freshet@db/pool\n  freshet pool --json",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := p.poolAt(cmd)
			if err != nil {
				return err
			}
			t, now, err := app.Pool(cmd.Context(), at)
			if err != nil {
				return err
			}
			if t == nil {
				return freshet.WithHint(errors.New("no daemon shares a budget there yet"), "start one with: freshet serve --pool URL --shard 1/3")
			}
			if asJSON {
				return p.printJSON(sharing(t, now))
			}
			return p.showPool(sharing(t, now))
		},
	}
	jsonFlag(cmd, &asJSON)
	forget := p.poolEdit(cobra.Command{
		Use:     "forget NUMBER",
		Short:   "Free a shard whose store is lost",
		Long:    forgetHelp,
		Example: "  freshet pool forget 2 --pool postgres://freshet@db/pool",
	}, "the number of a shard, such as 2", app.ForgetShard, "shard %[1]d is free\n")
	grow := p.poolEdit(cobra.Command{
		Use:     "grow NUMBER",
		Short:   "Make room for more shards, so many in all",
		Long:    growHelp,
		Example: "  freshet pool grow 3 --pool postgres://freshet@db/pool",
	}, "a number of shards, such as 3", app.GrowPool, "the pool has %[1]d shards; start all of them with --shard NUMBER/%[1]d\n")
	optionFlags(cmd.PersistentFlags(), "pool")
	cmd.AddCommand(forget, grow)
	return cmd
}

// poolEdit returns a command that changes a pool by a number, and says what that is and what was done.
func (p *program) poolEdit(cmd cobra.Command, what string, do func(ctx context.Context, at string, number int) error, done string) *cobra.Command {
	cmd.Args = takes(1, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := p.poolAt(cmd)
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(args[0])
		if err != nil {
			return usagef("pool: %q is not %s", args[0], what)
		}
		if err := do(cmd.Context(), at, number); err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, done, number)
		return err
	}
	return &cmd
}

// poolAt returns where the pool is.
func (p *program) poolAt(cmd *cobra.Command) (string, error) {
	s, err := p.settings(cmd)
	if s.Pool != "" { // a shard is of no interest here
		return s.Pool, nil
	}
	if err != nil {
		return "", err
	}
	return "", freshet.WithHint(errors.New("no pool"), "name it with --pool, FRESHET_POOL or in the configuration file")
}

// A shared is a budget and who has which part of it.
type shared struct {
	Budget string  `json:"budget"`
	Moving bool    `json:"moving"` // a part is on its way from one to another
	Met    bool    `json:"met"`    // a poll is worth about the same to all
	Moves  int     `json:"moves"`
	Shards []share `json:"shards"`
}

// A share is the part of one daemon.
type share struct {
	Number  int        `json:"number"`
	Address string     `json:"address,omitempty"`
	Part    string     `json:"part"`
	Goal    string     `json:"goal,omitempty"` // its part when what is on its way has arrived, if that is another
	Sources int        `json:"sources"`
	Price   float64    `json:"price"`
	Seen    *time.Time `json:"seen,omitempty"`
	Lost    bool       `json:"lost"` // it has not spoken for a while
	age     time.Duration
}

func sharing(t *shards.Table, now time.Time) shared {
	all := shared{Budget: t.Budget.String(), Moving: !t.Began.IsZero(), Met: t.Met, Moves: t.Moves}
	for i, s := range t.Seats {
		one := share{Number: i + 1, Address: s.Address, Part: sched.Budget{Polls: s.Part, Per: t.Budget.Per}.String(), Sources: s.Sources, Price: s.Claim.Price}
		if s.Goal != s.Part {
			one.Goal = sched.Budget{Polls: s.Goal, Per: t.Budget.Per}.String()
		}
		if s.Store != "" {
			one.Seen, one.age, one.Lost = &s.Seen, max(0, now.Sub(s.Seen)), !s.Heard(now)
		}
		all.Shards = append(all.Shards, one)
	}
	return all
}

// showPool prints who has which part of a budget.
func (p *program) showPool(all shared) error {
	fmt.Fprintf(p.out, "budget %s, shared by %d; parts have moved %s\n", all.Budget, len(all.Shards), counted(all.Moves, "time"))
	t := table{head: []string{"SHARD", "ADDRESS", "SOURCES", "PART", "PRICE", "SEEN"}}
	for _, s := range all.Shards {
		part, seen := s.Part, "never"
		if s.Goal != "" {
			part += " -> " + s.Goal
		}
		if s.Seen != nil {
			seen = freshet.FormatDuration(s.age.Round(100*time.Millisecond)) + " ago"
		}
		if s.Lost {
			seen += ", lost"
		}
		t.add(plain(strconv.Itoa(s.Number)), plain(harmless(s.Address)), plain(strconv.Itoa(s.Sources)), plain(part), plain(fmt.Sprintf("%.3g", s.Price)), plain(seen))
	}
	return t.write(p.out, p.screen())
}
