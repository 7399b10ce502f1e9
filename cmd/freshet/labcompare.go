package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/sched/policy"
)

// A labCompare is one run of the verb "lab compare".
type labCompare struct {
	*program
	labSetting
	policies  labflag.Policies
	budgets   labflag.Numbers
	store     storeFlags
	picture   pictureFlags
	json, csv bool
}

func labCompareVerb(p *program) *cobra.Command {
	c := labCompare{program: p, policies: policiesFlag(), budgets: labflag.Budgets(), store: storeFlags{hidden: true}}
	var traces []string
	cmd := &cobra.Command{
		Use:   "compare {--trace FILE... --budget POLLS... | --from-store} --policy POLICY...",
		Short: "Compare policies and budgets, and what was possible at best",
		Long: `Replay every trace with every policy and budget, and compare the scores with each
other and with the limit: the best score possible if every change were known in
advance. The limit is exact where it can be computed, otherwise it is an upper
bound, marked with <=.

Flags can be repeated, or take a list separated by commas. Traces can also be given
as arguments.

Policies: ` + strings.Join(policy.Names, ", ") + `.
Options follow a colon, for example sample-greedy:samples=10,share=0.3.

` + estimateHelp + evidenceHelp + conditionsHelp + fromStoreHelp,
		Example: "  freshet lab compare --trace feeds.csv.gz --policy uniform,wic,auto --budget 1,2,4,8\n" +
			"  freshet lab compare --policy uniform --policy wic --budget 2 --instant 5m --csv traces/*.csv.gz > scores.csv\n" +
			"  freshet lab compare --trace feeds.csv --policy uniform,wic --estimate exact --budget 1,2,4 --html feeds.html\n" +
			"  freshet lab compare --from-store --policy uniform,round-robin,frequency --days 14",
		Args: takes(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			traces = append(traces, args...)
			if c.json && c.csv {
				return usagef("compare: use --json or --csv, not both")
			}
			if c.store.on {
				return c.runRecorded(cmd, traces)
			}
			switch {
			case len(traces) == 0:
				return cli.MissingFlag(cmd, "trace", "FILE")
			case len(c.policies.List) == 0:
				return cli.MissingFlag(cmd, "policy", "uniform,wic")
			case len(c.budgets.List) == 0:
				return cli.MissingFlag(cmd, "budget", "1,2,4")
			}
			var opened []*lab.Case
			for _, file := range traces {
				t, err := c.openTrace(file)
				if err != nil {
					return err
				}
				opened = append(opened, t)
			}
			return c.run(cmd.Context(), opened)
		},
	}
	flags := cmd.Flags()
	labflag.Traces(flags, &traces)
	flags.Var(&c.policies, "policy", "policies to compare, separated by commas")
	flags.Var(&c.budgets, "budget", "polls per instant, separated by commas; fractions are allowed")
	c.store.register(flags)
	c.labSetting.register(flags)
	flags.BoolVar(&c.limit, "limit", true, "compare scores with the best that was possible")
	c.picture.register(flags)
	jsonFlag(cmd, &c.json)
	flags.BoolVar(&c.csv, "csv", false, "print CSV")
	return cmd
}

// run compares, and shows how it went.
func (c *labCompare) run(ctx context.Context, cases []*lab.Case) error {
	terms, err := c.terms()
	if err != nil {
		return err
	}
	competition := lab.Competition{Terms: terms, Policies: c.policies.List, Budgets: c.budgets.List, Limit: c.limit}
	bar := c.progress("comparing", competition.Instants(cases))
	competition.Progress = bar.Add
	contests, err := competition.Run(ctx, cases)
	bar.Done()
	if err != nil {
		return cli.WrongField(err)
	}
	if c.picture.wanted() {
		page := lab.DrawContests(contests)
		if c.store.on {
			page.About += " " + caveat(c.store.hidden)
		}
		if err := c.picture.write(page); err != nil {
			return err
		}
	}
	switch {
	case c.json:
		return c.printJSON(lab.AllTrials(contests))
	case c.csv:
		return lab.WriteTrials(c.out, lab.AllTrials(contests))
	}
	return c.table(contests)
}

func (c *labCompare) table(contests []*lab.Contest) error {
	paint := c.screen()
	t := display.Table{Head: lab.ComparedHead, Drop: []string{"AGE", "FRESHNESS", "DELAY"}}
	for _, k := range contests {
		best := map[string]float64{} // utility, by budget
		for _, row := range k.Trials {
			for _, r := range row {
				best[lab.FormatNumber(r.Budget)] = max(best[lab.FormatNumber(r.Budget)], r.UtilityNormalized)
			}
		}
		for _, row := range k.Rows() {
			cells := each(row, func(text string) display.Cell { return display.Plain(harmless(text)) })
			switch {
			case row[2] == "(limit)":
				for i := range cells {
					cells[i].Paint = paint.Dim
				}
			case row[4] == fmt.Sprintf("%.4f", best[row[1]]):
				cells[2].Paint, cells[4].Paint = paint.Green, paint.Green
			}
			t.Add(cells...)
		}
	}
	return t.Write(c.out, paint)
}
