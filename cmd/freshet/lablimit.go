package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/plot"
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
	l := labLimit{program: p, budgets: budgets(), shares: numbersFlag{most: 1, what: "a share; use a number above 0 and up to 1"}}
	var traces []string
	cmd := &cobra.Command{
		Use:   "limit --trace FILE --budget POLLS...",
		Short: "Compute the most that any policy could capture",
		Long: `Compute the limit: the best score possible on a trace if every change were known in
advance. It is exact where it can be computed, and otherwise an upper bound;
"reached" is then what a known schedule achieves.

--share finds the smallest budget whose limit is that share of all changes (by
weight): a whole number of polls per instant, or a fraction, to two decimals, if
less than one is enough.

With one budget and no share, --json prints an object, otherwise a list.`,
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
	flags.Var(&l.budgets, "budget", "polls per instant, separated by commas; fractions are allowed")
	flags.Var(&l.shares, "share", "find the budget for this share of all changes; separate several by commas")
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
	fmt.Fprintln(l.out, l.screen().prose(fmt.Sprintf("%s: %s, %d changes in %d instants of %s; life %s, urgency %s", harmless(t.Name()), counted(len(t.Grid.Pages()), "page"), t.Grid.Changes(), t.Grid.Instants, freshet.FormatDuration(l.instant), t.Stakes.Life, t.Stakes.Urgency), "  "))
	return rows.write(l.out, l.screen())
}
