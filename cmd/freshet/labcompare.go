package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"freshet/lab"
	"freshet/rival"
)

// A labCompare is one run of the verb "lab compare".
type labCompare struct {
	*program
	labSetting
	policies  policiesFlag
	budgets   numbersFlag
	store     storeFlags
	picture   pictureFlags
	json, csv bool
}

func (p *program) labCompare() *cobra.Command {
	c := labCompare{program: p, budgets: budgets(), store: storeFlags{hidden: true}}
	var traces []string
	cmd := &cobra.Command{
		Use:   "compare {--trace FILE... --budget POLLS... | --from-store} --policy POLICY...",
		Short: "Compare policies and budgets over traces, also with what was possible",
		Long: `Replay every trace under every policy and budget, and hold the scores against
each other and against the limit: the utility that the best of all schedules
could have had, made by somebody who knew every change beforehand. The limit is
exact where that can be worked out and otherwise an upper bound, marked with <=.

Flags can be repeated, or list several with commas. Traces can also be written
without a flag.

Policies: ` + strings.Join(rival.Names(), ", ") + `.
Options follow a colon, as in sample-greedy:samples=10,share=0.3.

` + estimateHelp + evidenceHelp + fromStoreHelp,
		Example: "  freshet lab compare --trace feeds.csv.gz --policy uniform,wic,cam --budget 1,2,4,8\n" +
			"  freshet lab compare --policy uniform --policy wic --budget 2 --instant 5m --csv traces/*.csv.gz > scores.csv\n" +
			"  freshet lab compare --trace feeds.csv --policy uniform,wic --estimate exact --budget 1,2,4 --html feeds.html\n" +
			"  freshet lab compare --from-store --policy uniform,round-robin,frequency --days 14",
		Args: takes(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			traces = append(traces, args...)
			if c.json && c.csv {
				return usagef("compare: --json and --csv are two forms of the same; take one")
			}
			if c.store.on {
				return c.runRecorded(cmd, traces)
			}
			switch {
			case len(traces) == 0:
				return missing(cmd, "trace", "FILE")
			case len(c.policies) == 0:
				return missing(cmd, "policy", "uniform,wic")
			case len(c.budgets.list) == 0:
				return missing(cmd, "budget", "1,2,4")
			}
			var opened []*labTrace
			for _, file := range traces {
				t, err := openTrace(file, &c.labPeriod, &c.labStakes)
				if err != nil {
					return err
				}
				opened = append(opened, t)
			}
			return c.run(cmd.Context(), opened)
		},
	}
	flags := cmd.Flags()
	tracesFlag(flags, &traces)
	flags.Var(&c.policies, "policy", "what to poll next; can list several")
	flags.Var(&c.budgets, "budget", "polls an instant; can list several, and be a fraction")
	c.store.register(flags)
	c.labSetting.register(flags)
	flags.BoolVar(&c.limit, "limit", true, "hold scores against what was possible at all")
	c.picture.register(flags)
	jsonFlag(cmd, &c.json)
	flags.BoolVar(&c.csv, "csv", false, "print CSV")
	return cmd
}

// A contest is all trials of one trace: one row a budget, in it one a policy.
type contest struct {
	*labTrace
	trials [][]trial
	limits []lab.Limit // by budget; none if they were not asked for
}

// run compares, and shows how it went.
func (c *labCompare) run(ctx context.Context, traces []*labTrace) error {
	var contests []*contest
	for _, t := range traces {
		k := &contest{labTrace: t}
		for range c.budgets.list {
			k.trials = append(k.trials, make([]trial, len(c.policies)))
		}
		if c.limit {
			k.limits = make([]lab.Limit, len(c.budgets.list))
		}
		contests = append(contests, k)
	}
	if err := c.compete(ctx, contests); err != nil {
		return err
	}
	if c.picture.wanted() {
		if err := c.picture.write(c.draw(contests)); err != nil {
			return err
		}
	}
	switch {
	case c.json:
		return c.printJSON(all(contests))
	case c.csv:
		return writeTrials(c.out, all(contests))
	}
	return c.table(contests)
}

// compete runs all trials, as many at once as there are processors.
func (c *labCompare) compete(ctx context.Context, contests []*contest) error {
	steps := 0
	for _, k := range contests {
		each := len(c.policies)
		if c.limit {
			each++
		}
		steps += k.grid.Instants * each * len(c.budgets.list)
	}
	bar := c.progress("comparing", steps)
	defer bar.done()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, k := range contests {
		for b, budget := range c.budgets.list {
			if c.limit {
				group.Go(func() (err error) {
					defer bar.add(k.grid.Instants)
					if ctx.Err() == nil {
						k.limits[b], err = k.grid.Limit(budget, k.stakes)
					}
					return flagFault(err)
				})
			}
			for i, name := range c.policies {
				group.Go(func() (err error) {
					begins, ends := bar.instants(k.grid.Instants)
					defer ends()
					k.trials[b][i], err = c.try(ctx, k.labTrace, name, budget, lab.Options{Progress: begins})
					return err
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, k := range contests {
		for b, most := range k.limits {
			for i := range k.trials[b] {
				k.trials[b][i].holdAgainst(most, k.weight)
			}
		}
	}
	return nil
}

// all returns the trials of all contests in order.
func all(contests []*contest) (list []trial) {
	for _, k := range contests {
		if k.recorded != nil {
			list = append(list, k.recorded.trial(k.labTrace))
		}
		for _, row := range k.trials {
			list = append(list, row...)
		}
	}
	return list
}

// comparedHead are the columns of the table.
var comparedHead = []string{"TRACE", "BUDGET", "POLICY", "RECALL", "UTILITY", "OF LIMIT", "DELAY", "FRESHNESS", "AGE", "POLLS"}

// rows returns the figures of a contest, for people.
func (k *contest) rows() (rows [][]string) {
	add := func(r trial) {
		of := ""
		if r.trialLimit != nil {
			of = fmt.Sprintf("%.1f%%", 100*r.OfLimit)
		}
		rows = append(rows, []string{k.name(), number(r.Budget), r.Policy, fmt.Sprintf("%.4f", r.Recall), fmt.Sprintf("%.4f", r.UtilityNormalized), of,
			fmt.Sprintf("%.2f", r.MeanDelay), fmt.Sprintf("%.4f", r.Freshness), brief(r.AgeSeconds) + "s", fmt.Sprint(r.Polls)})
	}
	if k.recorded != nil {
		add(k.recorded.trial(k.labTrace))
	}
	for b, row := range k.trials {
		for _, r := range row {
			add(r)
		}
		if k.limits != nil {
			rows = append(rows, []string{k.name(), number(row[0].Budget), "(limit)", "", k.limitText(b), "100.0%", "", "", "", ""})
		}
	}
	return rows
}

// limitText writes the limit of a budget, and whether it is one that can be
// reached.
func (k *contest) limitText(b int) string {
	text := fmt.Sprintf("%.4f", share(k.limits[b].Value, k.weight))
	if !k.limits[b].Exact {
		text = "<=" + text
	}
	return text
}

func (c *labCompare) table(contests []*contest) error {
	paint := palette(c.colours(c.out))
	t := table{head: comparedHead}
	for _, k := range contests {
		best := map[string]float64{} // utility, by budget
		for _, row := range k.trials {
			for _, r := range row {
				best[number(r.Budget)] = max(best[number(r.Budget)], r.UtilityNormalized)
			}
		}
		for _, row := range k.rows() {
			cells := each(row, plain)
			switch {
			case row[2] == "(limit)":
				for i := range cells {
					cells[i].paint = paint.dim
				}
			case row[4] == fmt.Sprintf("%.4f", best[row[1]]):
				cells[2].paint, cells[4].paint = paint.green, paint.green
			}
			t.add(cells...)
		}
	}
	return t.write(c.out, paint)
}
