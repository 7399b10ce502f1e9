package lab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// A ShardResult holds several brains against one on a trace, at its reference budget. What
// was captured is the mean of all runs.
type ShardResult struct {
	Trace  string    `json:"trace"`
	Half   bool      `json:"half,omitempty"` // of the pages
	Hosts  []int     `json:"hosts"`          // by brain
	Budget float64   `json:"budget"`         // polls an instant
	Before []float64 `json:"budget_at_start"`
	After  []float64 `json:"budget_at_end"` // of the last run
	Moves  float64   `json:"moves"`
	One    Halves    `json:"one"`    // brain
	Fixed  Halves    `json:"fixed"`  // parts of the budget, by the number of pages
	Shards Halves    `json:"shards"` // parts of the budget that move
}

// Halves are how many changes were captured, and how many of those in the second half of
// the instants.
type Halves struct {
	All  float64 `json:"captured"`
	Late float64 `json:"captured_late"`
}

// Of returns what was captured as a share of what another captured.
func (h Halves) Of(other Halves) Halves {
	return Halves{All: ratio(h.All, other.All, 1), Late: ratio(h.Late, other.Late, 1)}
}

// RunShards holds so many brains against one on every recording of the folder, under the
// default policy: in the reference settings or, with Reserved, in those that are held out.
func (c Comparison) RunShards(ctx context.Context, shards int) ([]ShardResult, error) {
	files, _, err := c.recordings()
	if err != nil {
		return nil, err
	}
	runs := 1 + reruns
	if c.Quick {
		runs = 1
	}
	results := make([]*ShardResult, len(files))
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(c.Jobs, runtime.GOMAXPROCS(0)))
	for i, f := range files {
		group.Go(func() (err error) {
			results[i], err = c.runShards(ctx, f, shards, runs)
			if n := done.Add(1); c.Progress != nil {
				c.Progress(int(n), len(files))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var list []ShardResult
	for _, r := range results {
		if r != nil { // nothing of it is held out otherwise
			list = append(list, *r)
		}
	}
	return list, nil
}

// runShards makes the runs of one recording. It returns nil if nothing of it is held out,
// and that is asked for.
func (c Comparison) runShards(ctx context.Context, f recordingFile, shards, runs int) (*ShardResult, error) {
	h, err := OpenHistory(f.path)
	if err != nil {
		return nil, err
	}
	f.Instant = cmp.Or(f.Instant, h.SuggestInstant())
	cut := func() (*Grid, error) { return f.grid(h) }
	if c.Reserved {
		cut = func() (*Grid, error) { return f.reserve(h) }
	}
	g, err := cut()
	if err != nil || g == nil {
		return nil, err
	}
	r := &ShardResult{Trace: f.Name, Half: f.Half, Budget: cmp.Or(f.Budget, g.SuggestBudget())}
	for seed := range runs {
		err := r.run(ctx, g, shards, uint64(seed)+1, 1/float64(runs))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return r, nil
}

// run replays once by one brain and by several, and adds a share of what they captured.
func (r *ShardResult) run(ctx context.Context, g *Grid, shards int, seed uint64, share float64) error {
	name := cmp.Or(reseeded(policy.Default), policy.Default)
	counting := func(to *Halves) Options {
		return Options{Budget: r.Budget, Look: func(_, instant int, changed bool) {
			if !changed {
				return
			}
			to.All += share
			if instant > g.Instants/2 {
				to.Late += share
			}
		}}
	}
	p, err := Conditions{}.start(name, g, r.Budget, seed)
	if err != nil {
		return err
	}
	if _, err := Replay(ctx, g, p, counting(&r.One)); err != nil {
		return err
	}
	n := Shards{Count: shards, Start: func(shard, pages int, budget float64) (freshet.Policy, error) {
		return Conditions{}.startOf(name, g, pages, budget, seed+uint64(shard))
	}}
	_, f, err := ReplayShards(ctx, g, n, counting(&r.Shards))
	if err != nil {
		return err
	}
	r.Hosts, r.Before, r.After = nil, nil, nil
	for _, s := range f.Shards {
		r.Hosts, r.Before, r.After = append(r.Hosts, s.Hosts), append(r.Before, s.Before), append(r.After, s.After)
	}
	r.Moves += share * float64(f.Moves)
	n.Fixed = true
	_, _, err = ReplayShards(ctx, g, n, counting(&r.Fixed))
	return err
}

// WriteShards writes a comparison of several brains with one as a Markdown table.
func WriteShards(w io.Writer, list []ShardResult) error {
	if len(list) == 0 {
		return nil
	}
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	}
	if err := say("| recording | hosts of each | budget at the start | at the end | one brain captured | %d fixed parts | second half | parts that move | second half |\n| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n", len(list[0].Hosts)); err != nil {
		return err
	}
	var fixed, moved Halves
	for _, r := range list {
		name := r.Trace
		if r.Half {
			name += ", half of the pages"
		}
		f, s := r.Fixed.Of(r.One), r.Shards.Of(r.One)
		fixed.All, fixed.Late = fixed.All+f.All/float64(len(list)), fixed.Late+f.Late/float64(len(list))
		moved.All, moved.Late = moved.All+s.All/float64(len(list)), moved.Late+s.Late/float64(len(list))
		if err := say("| %s | %s | %s | %s | %.0f | %.3f | %.3f | %.3f | %.3f |\n", name, commas("%d", r.Hosts), commas("%.2f", r.Before), commas("%.2f", r.After), r.One.All, f.All, f.Late, s.All, s.Late); err != nil {
			return err
		}
	}
	return say("| *mean* | | | | | %.3f | %.3f | %.3f | %.3f |\n", fixed.All, fixed.Late, moved.All, moved.Late)
}

// commas writes a list.
func commas[T any](format string, list []T) (text string) {
	for i, x := range list {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf(format, x)
	}
	return text
}
