// Package limit works out what no policy can exceed, for traces and shares of their
// changes, and remembers what takes long to work out.
package limit

import (
	"context"
	"time"

	"freshet/internal/lab"
)

// A Result is a limit and what it is a limit of.
type Result struct {
	Trace      string  `json:"trace"`
	Start      string  `json:"start"`
	End        string  `json:"end"`
	Instant    float64 `json:"instant_seconds"`
	Pages      int     `json:"pages"`
	Instants   int     `json:"instants"`
	Changes    int     `json:"changes"`
	Life       string  `json:"life"`
	Urgency    string  `json:"urgency"`
	Share      float64 `json:"share,omitempty"` // that was asked for
	Budget     float64 `json:"budget"`
	Normalized float64 `json:"limit_normalized"` // of the weight of all changes
	lab.Limit
}

// Of returns the limit of a budget.
func Of(ctx context.Context, k *lab.Case, budget float64) (Result, error) {
	c := Result{
		Trace: k.Trace, Start: k.Grid.Start.Format(time.RFC3339), End: k.Grid.Time(k.Grid.Instants).Format(time.RFC3339), Instant: k.Grid.Instant.Seconds(),
		Pages: len(k.Grid.Pages()), Instants: k.Grid.Instants, Changes: k.Grid.Changes(),
		Life: k.Weights.Life.String(), Urgency: k.Weights.Urgency.String(), Budget: budget,
	}
	if err := ctx.Err(); err != nil {
		return c, err
	}
	var err error
	c.Limit, err = k.Grid.Limit(budget, k.Weights)
	c.Normalized = lab.Ratio(c.Value, k.Weight, 1)
	return c, err
}

// AtShare returns the limit of the least budget at which it is a share of all.
func AtShare(ctx context.Context, k *lab.Case, wanted float64) (Result, error) {
	found := map[float64]Result{}
	budget, err := LeastBudget(wanted, func(budget float64) (float64, error) {
		c, err := Of(ctx, k, budget)
		c.Share = wanted
		found[budget] = c
		return c.Normalized, err
	})
	return found[budget], err
}
