package lab

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"freshet/internal/lab/plot"
)

// A Contest is all trials of one case: one row a budget, in it one a policy.
type Contest struct {
	*Case
	Trials [][]Trial
	Limits []Limit // by budget; none if they were not asked for
}

// A Competition says who competes, and how.
type Competition struct {
	Terms
	Policies []string
	Budgets  []float64 // polls an instant
	Limit    bool      // work out what was possible, too

	// Jobs is how many trials are made at once; zero means one a processor.
	Jobs int

	// Rest, if set, is called again and again in the course of the work, so that it can
	// be slowed down. It is called from as many goroutines as there are jobs.
	Rest func()

	// Progress, if set, is called with instants that were worked through. There are Instants of
	// them in all. It is called from several goroutines.
	Progress func(instants int)
}

// Instants returns how many instants a competition over cases works through.
func (c *Competition) Instants(cases []*Case) (instants int) {
	each := len(c.Policies)
	if c.Limit {
		each++
	}
	for _, k := range cases {
		instants += k.Grid.Instants * each * len(c.Budgets)
	}
	return instants
}

// Run makes all trials.
func (c *Competition) Run(ctx context.Context, cases []*Case) ([]*Contest, error) {
	var contests []*Contest
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(c.Jobs, runtime.GOMAXPROCS(0)))
	for _, k := range cases {
		contest := &Contest{Case: k}
		contests = append(contests, contest)
		if c.Limit {
			contest.Limits = make([]Limit, len(c.Budgets))
		}
		for b, budget := range c.Budgets {
			row := make([]Trial, len(c.Policies))
			contest.Trials = append(contest.Trials, row)
			if c.Limit {
				group.Go(func() (err error) {
					contest.Limits[b], err = c.limit(ctx, k, budget)
					return err
				})
			}
			for i, name := range c.Policies {
				group.Go(func() (err error) {
					row[i], err = c.try(ctx, k, name, budget)
					return err
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, k := range contests {
		k.judge()
	}
	return contests, nil
}

// limit works out what was possible.
func (c *Competition) limit(ctx context.Context, k *Case, budget float64) (Limit, error) {
	defer c.tell(k.Grid.Instants)
	if ctx.Err() != nil {
		return Limit{}, nil // another one has failed
	}
	return k.Grid.limit(budget, k.Weights, c.Rest)
}

// try makes a trial. It reports progress in steps, so that reporting costs nothing.
func (c *Competition) try(ctx context.Context, k *Case, policy string, budget float64) (Trial, error) {
	told, step := 0, max(1, k.Grid.Instants/200)
	defer func() { c.tell(k.Grid.Instants - told) }()
	return c.Try(ctx, k, policy, budget, Options{Progress: func(instant int) {
		if c.Rest != nil {
			c.Rest()
		}
		if instant-told >= step {
			c.tell(instant - told)
			told = instant
		}
	}})
}

func (c *Competition) tell(instants int) {
	if c.Progress != nil {
		c.Progress(instants)
	}
}

// judge holds all trials against their limits.
func (k *Contest) judge() {
	for b, most := range k.Limits {
		for i := range k.Trials[b] {
			k.Trials[b][i].HoldAgainst(most, k.Weight)
		}
	}
}

// AllTrials returns the trials of contests in order. Where a daemon recorded the
// trace, its own polls come first.
func AllTrials(contests []*Contest) (list []Trial) {
	for _, k := range contests {
		if k.Recorded != nil {
			list = append(list, k.Recorded.Trial(k.Case))
		}
		for _, row := range k.Trials {
			list = append(list, row...)
		}
	}
	return list
}

// ComparedHead are the columns of the table.
var ComparedHead = []string{"TRACE", "BUDGET", "POLICY", "RECALL", "UTILITY", "OF LIMIT", "DELAY", "FRESHNESS", "AGE", "POLLS"}

// Rows returns the figures of a contest, for people.
func (k *Contest) Rows() (rows [][]string) {
	add := func(r Trial) {
		of := ""
		if r.TrialLimit != nil {
			of = fmt.Sprintf("%.1f%%", 100*r.OfLimit)
		}
		rows = append(rows, []string{k.Name(), FormatNumber(r.Budget), r.Policy, fmt.Sprintf("%.4f", r.Recall), fmt.Sprintf("%.4f", r.UtilityNormalized), of,
			fmt.Sprintf("%.2f", r.MeanDelay), fmt.Sprintf("%.4f", r.Freshness), plot.Brief(r.AgeSeconds) + "s", fmt.Sprint(r.Polls)})
	}
	if k.Recorded != nil {
		add(k.Recorded.Trial(k.Case))
	}
	for b, row := range k.Trials {
		for _, r := range row {
			add(r)
		}
		if k.Limits != nil {
			rows = append(rows, []string{k.Name(), FormatNumber(row[0].Budget), "(limit)", "", k.limitText(b), "100.0%", "", "", "", ""})
		}
	}
	return rows
}

// limitText writes the limit of a budget, and whether it is one that can be
// reached.
func (k *Contest) limitText(b int) string {
	text := fmt.Sprintf("%.4f", k.share(b))
	if !k.Limits[b].Exact {
		text = "<=" + text
	}
	return text
}

// share returns the limit of a budget as a share of the weight of all changes.
func (k *Contest) share(b int) float64 { return Ratio(k.Limits[b].Value, k.Weight, 1) }
