package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/test/bench"
)

// A hostileBench is one run of the verb "bench hostile".
type hostileBench struct {
	*program
	bench.Hostile
	json bool
}

func benchHostileVerb(p *program) *cobra.Command {
	b := hostileBench{program: p, Hostile: bench.Hostile{Length: time.Minute, Plan: bench.Plan{Policy: "uniform", Changed: 0.1}}}
	rate, share := "", 0.0
	cmd := &cobra.Command{
		Use:   "hostile",
		Short: "See whether hostile servers make the polls of other sources late",
		Long: `Poll good sources alone, and then the same sources among hostile servers: servers
that never answer, send endless headers and bodies, bombs, broken lengths, and
redirects that lead nowhere. The two take turns. Report how late polls of the good
sources were, and how much memory the daemon used.

A poll is late by the time that has passed beyond the period, which is the number of
sources divided by the rate. The hostile servers bring their own share of the rate.`,
		Example: "  freshet-lab bench hostile\n  freshet-lab bench hostile --sources 10000 --share 0.05 --rate 500/s --for 2m --json",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.Budget, err = sched.ParseBudget(rate); err != nil {
				return cli.WrongFlag("rate", invalid.ReasonOf(err))
			}
			if !(share >= 0 && share < 1) {
				return cli.Usagef("--share: %g is not a share from 0 to 1", share)
			}
			if err := cli.WrongFlag("kind", b.Plan.Harm.Check()); err != nil {
				return err
			}
			b.Plan.Harm.Servers = int(share * float64(b.Plan.Sources))
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Plan.Sources, "sources", 2000, "good pages to poll")
	flags.Float64Var(&share, "share", 0.05, "hostile servers to add, as a share of the good pages, 0 to 1")
	flags.StringVar(&b.Plan.Harm.Kind, "kind", "", "only hostile servers of one kind: slow, size, header, frame, redir or polite")
	flags.IntVar(&b.Plan.Hosts, "hosts", 50, "number of addresses that serve the good pages")
	flags.IntVar(&b.Plan.Workers, "concurrency", 64, "polls at the same time")
	flags.StringVar(&rate, "rate", "200/s", "polls of good pages to make")
	flags.Var((*cli.Length)(&b.Length), "for", "length of one round")
	flags.IntVar(&b.Rounds, "rounds", 1, "number of rounds for each")
	flags.StringVar(&b.Plan.Dir, "dir", "", "directory for temporary data")
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run measures and shows the results.
func (b *hostileBench) run(ctx context.Context) (err error) {
	if b.Plan.Server, err = benchServerCommand(); err != nil {
		return err
	}
	b.Say = b.say
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if b.json {
		return cli.WriteJSON(b.out, r)
	}
	t := table{head: "GOOD SOURCES\tPOLLS\tFAILED\tNEVER\tLATE: MEAN\tP99\tMOST\tPEAK RSS\tHOSTILE POLLS\tHELD"}
	for i, round := range []bench.HostileRound{r.Alone, r.Among} {
		t.add([]string{"alone", "among hostile ones"}[i], round.Polls, round.Failed, round.Unpolled,
			seconds(round.Late.Mean), seconds(round.Late.P99), seconds(round.Late.Most), cli.Size(int64(round.RSS)),
			round.Harm, seconds(round.Held))
	}
	if err := t.write(b.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "among hostile servers, polls are %.2f times as late, and memory is %.2f times as much\n", r.Ratio, r.RSS)
	return err
}

func seconds(s float64) string { return fmt.Sprintf("%.2fs", s) }
