package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/research/adversary"
	"freshet/internal/sched/policy"
)

// An adversaryRun is one run of the verb "adversary".
type adversaryRun struct {
	*program
	policy string
	seed   uint64
	webs   int
	length time.Duration
	json   bool
}

func adversaryVerb(p *program) *cobra.Command {
	l := adversaryRun{program: p}
	cmd := &cobra.Command{
		Use:   "adversary",
		Short: "Search for webs on which a policy captures least",
		Long: `Search for a web and a budget on which a policy captures least, relative to uniform
and round-robin. Webs are drawn at random and changed step by step towards
worse ones. Pages change at random, by the clock, in bursts, once, or begin or end
to change.

The same seed and number of webs give the same result, unless --for ends the search
first.`,
		Example: "  freshet-lab adversary --webs 500\n  freshet-lab adversary --policy auto:least_chance=0 --webs 100000 --for 10m --json",
		Args:    cli.Takes(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&l.policy, "policy", policy.Default, "policy that is searched against")
	flags.Uint64Var(&l.seed, "seed", 1, "random seed")
	flags.IntVar(&l.webs, "webs", 200, "how many webs to judge")
	flags.DurationVar(&l.length, "for", 0, "end after this time (default: when all webs are judged)")
	cli.JSONFlag(cmd, &l.json)
	return cmd
}

// run searches, and shows the worst web.
func (l *adversaryRun) run(ctx context.Context) error {
	if l.webs < 1 {
		return cli.Usagef("adversary: --webs: %d is less than 1", l.webs)
	}
	if l.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.length)
		defer cancel()
	}
	bar := l.progress("judging", l.webs)
	v, err := adversary.Search(ctx, l.policy, l.seed, l.webs, func(int, float64) { bar.Add(1) })
	bar.Done()
	if err != nil {
		return err
	}
	if l.json {
		return cli.WriteJSON(l.out, v)
	}
	fmt.Fprintf(l.out, "worst ratio %.4f: %s captures %.4f of %d changes, uniform %.4f, round-robin %.4f\n",
		v.Worst, v.Policy, v.Share, v.Changes, v.Rivals["uniform"], v.Rivals["round-robin"])
	fmt.Fprintf(l.out, "budget %g polls a minute, for %d minutes\n", v.Web.Budget, v.Web.Instants)
	rows := table{head: "PAGES\tKIND\tRATE A MINUTE\tTURN\tPHASE\tAPART"}
	for _, g := range v.Web.Groups {
		rows.add(g.Pages, g.Kind, g.Rate, g.Turn, g.Phase, g.Apart)
	}
	return rows.write(l.out)
}
