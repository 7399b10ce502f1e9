package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/lab/plot"
	"freshet/internal/research/limit"
	"freshet/internal/units"
)

// A limitRun is one run of the verb "limit".
type limitRun struct {
	*program
	labflag.Period
	labflag.Weights
	budgets, shares labflag.Numbers
	json            bool
}

func limitVerb(p *program) *cobra.Command {
	l := limitRun{program: p, budgets: labflag.Budgets(), shares: labflag.Shares()}
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
		Example: "  freshet-lab limit --trace feeds.csv.gz --budget 8 --json\n  freshet-lab limit --trace feeds.csv.gz --share 0.3,0.6,0.9",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			trace, err := labflag.One(cmd, "trace", "FILE", traces)
			if err != nil {
				return err
			}
			if len(l.budgets.List)+len(l.shares.List) == 0 {
				return cli.MissingFlag(cmd, "budget", "8, or --share 0.5")
			}
			return l.run(cmd.Context(), trace)
		},
	}
	flags := cmd.Flags()
	labflag.Traces(flags, &traces)
	flags.Var(&l.budgets, "budget", "polls per instant, separated by commas; fractions are allowed")
	flags.Var(&l.shares, "share", "find the budget for this share of all changes; separate several by commas")
	l.Period.Register(flags)
	l.Weights.Register(flags)
	cli.JSONFlag(cmd, &l.json)
	return cmd
}

// run works limits out, and shows them.
func (l *limitRun) run(ctx context.Context, file string) error {
	t, err := labflag.OpenCase(file, &l.Period, &l.Weights)
	if err != nil {
		return err
	}
	var found []limit.Result
	for _, budget := range l.budgets.List {
		c, err := limit.Of(ctx, t, budget)
		if err != nil {
			return cli.WrongField(err)
		}
		found = append(found, c)
	}
	for _, wanted := range l.shares.List {
		c, err := limit.AtShare(ctx, t, wanted)
		if err != nil {
			return cli.WrongField(err)
		}
		found = append(found, c)
	}
	switch {
	case l.json && len(found) == 1 && len(l.shares.List) == 0:
		return cli.WriteJSON(l.out, found[0])
	case l.json:
		return cli.WriteJSON(l.out, found)
	}
	rows := table{head: "BUDGET\tLIMIT\tOF ALL\tREACHED\t\tMETHOD"}
	for _, c := range found {
		rows.add(lab.FormatNumber(c.Budget), plot.Brief(c.Value), fmt.Sprintf("%.4f", c.Normalized), plot.Brief(c.Reached), lab.Exactness(c.Exact), c.Method)
	}
	fmt.Fprintln(l.out, fmt.Sprintf("%s: %s, %d changes in %d instants of %s; life %s, urgency %s", cli.Harmless(t.Name()), cli.Counted(len(t.Grid.Pages()), "page"), t.Grid.Changes(), t.Grid.Instants, units.FormatDuration(l.Instant), t.Weights.Life, t.Weights.Urgency))
	return rows.write(l.out)
}
