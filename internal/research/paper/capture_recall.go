package paper

import (
	"context"
	"fmt"

	"freshet/internal/lab"
	"freshet/internal/sched/cyclic"
)

// captureMethods are the strategies in the order of figure 5, and one more.
var captureMethods = []struct {
	cyclic.Method
	name string
}{
	{cyclic.Even, "uniform"},
	{cyclic.BestPhase, "uniform, best phase"},
	{cyclic.Optimal, "optimal"},
	{cyclic.Modeled, "modelled"},
}

// capturePolls is how many polls an hour are tried, from one.
const capturePolls = 12

// A captureRun is what a strategy did on a set of sources.
type captureRun struct {
	past, future cyclic.Score // all sources together
	freshness    float64
	ageLast      float64 // mean minutes since the latest change that the copy lacks
	ageFirst     float64 // and since the first
}

// captureRuns are those of a set, by method and polls an hour.
type captureRuns map[cyclic.Method][]captureRun

// run plans for every source of a set by its past, and follows the plans
// through its future.
func (c captureMeans) run(ctx context.Context, set captureSet) (captureRuns, error) {
	runs := captureRuns{}
	grid := set.grid()
	for _, m := range captureMethods {
		for n := 1; n <= capturePolls; n++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r, err := c.follow(set, grid, m.Method, n)
			if err != nil {
				return nil, fmt.Errorf("planning %d polls of %s by %s: %w", n, set.name, m.Method, err)
			}
			runs[m.Method] = append(runs[m.Method], r)
		}
	}
	return runs, nil
}

func (c captureMeans) follow(set captureSet, grid *lab.Grid, m cyclic.Method, polls int) (captureRun, error) {
	var r captureRun
	last := lab.NewScorer(grid, lab.Weights{}, lab.Measures{Age: lab.AgeLast})
	first := lab.NewScorer(grid, lab.Weights{}, lab.Measures{Age: lab.AgeFirst})
	for i := range set.past {
		past, future := captureOf(set.past[i]), captureOf(set.future[i])
		offsets, err := c.plan(past, captureHour, polls, m)
		if err != nil {
			return r, err
		}
		r.past = captureSum(r.past, past.Count(captureHour, offsets))
		r.future = captureSum(r.future, future.Count(captureHour, offsets))
		for h := range set.hours {
			for _, b := range offsets {
				last.Poll(i, h*captureHour+b+1)
				first.Poll(i, h*captureHour+b+1)
			}
		}
	}
	score := last.Score()
	r.freshness, r.ageLast, r.ageFirst = score.Freshness, score.AgeSeconds/60, first.Score().AgeSeconds/60
	return r, nil
}

func captureSum(a, b cyclic.Score) cyclic.Score {
	return cyclic.Score{Changes: a.Changes + b.Changes, Misses: a.Misses + b.Misses, Delay: a.Delay + b.Delay}
}

// gain returns how much more of the changes one method captures than another,
// in the mean over polls an hour from one number to another.
func (r captureRuns) gain(m, over cyclic.Method, from, to int) float64 {
	sum := 0.0
	for n := from; n <= to; n++ {
		sum += r[m][n-1].future.Recall() - r[over][n-1].future.Recall()
	}
	return sum / float64(to-from+1)
}
