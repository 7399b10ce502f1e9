package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/lab"
	"freshet/plot"
)

// A labLimit is one run of the verb "lab limit".
type labLimit struct {
	*program
	labPeriod
	labStakes
	budgets, shares numbersFlag
	json            bool
}

func labLimitVerb(p *program) *cobra.Command {
	l := labLimit{program: p, budgets: budgets(), shares: numbersFlag{most: 1, what: "a share; it takes a number above 0 and up to 1"}}
	var traces []string
	cmd := &cobra.Command{
		Use:   "limit --trace FILE --budget POLLS...",
		Short: "Say what could have been captured at all under a budget",
		Long: `Work out the utility that the best of all schedules could have had on a trace,
made by somebody who knew every change beforehand. It is exact where that can be
worked out, and otherwise an upper bound; "reached" is what a schedule is known
to have.

With --share, find the least budget at which the limit is that share of the
weight of all changes: a whole number, or a fraction (to the hundredth part) if
less than one poll an instant will do.

With one budget and no share --json prints an object, otherwise a list of them.`,
		Example: "  freshet lab limit --trace feeds.csv.gz --budget 8 --json\n  freshet lab limit --trace feeds.csv.gz --share 0.3,0.6,0.9",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			trace, err := one(cmd, "trace", "FILE", traces)
			if err != nil {
				return err
			}
			if len(l.budgets.list)+len(l.shares.list) == 0 {
				return missing(cmd, "budget", "8, or --share 0.5")
			}
			return l.run(cmd.Context(), trace)
		},
	}
	flags := cmd.Flags()
	tracesFlag(flags, &traces)
	flags.Var(&l.budgets, "budget", "polls an instant; can list several, and be a fraction")
	flags.Var(&l.shares, "share", "find the budget for this share of all changes; can list several")
	l.labPeriod.register(flags)
	l.labStakes.register(flags)
	jsonFlag(cmd, &l.json)
	return cmd
}

// run works limits out, and shows them.
func (l *labLimit) run(ctx context.Context, file string) error {
	t, err := openTrace(file, &l.labPeriod, &l.labStakes)
	if err != nil {
		return err
	}
	var found []lab.Ceiling
	for _, budget := range l.budgets.list {
		c, err := t.Ceiling(ctx, budget)
		if err != nil {
			return flagFault(err)
		}
		found = append(found, c)
	}
	for _, wanted := range l.shares.list {
		c, err := t.CeilingAt(ctx, wanted)
		if err != nil {
			return flagFault(err)
		}
		found = append(found, c)
	}
	switch {
	case l.json && len(found) == 1 && len(l.shares.list) == 0:
		return l.printJSON(found[0])
	case l.json:
		return l.printJSON(found)
	}
	rows := table{head: []string{"BUDGET", "LIMIT", "OF ALL", "REACHED", "", "METHOD"}}
	for _, c := range found {
		rows.add(plain(number(c.Budget)), plain(plot.Brief(c.Value)), plain(fmt.Sprintf("%.4f", c.Normalized)), plain(plot.Brief(c.Reached)), plain(exactness(c.Exact)), plain(c.Method))
	}
	fmt.Fprintf(l.out, "%s: %s, %d changes in %d instants of %s; life %s, urgency %s\n", harmless(t.Name()), counted(len(t.Grid.Pages()), "page"), t.Grid.Changes(), t.Grid.Instants, freshet.FormatDuration(l.instant), t.Stakes.Life, t.Stakes.Urgency)
	return rows.write(l.out, l.screen())
}
