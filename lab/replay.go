package lab

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"freshet"
	"freshet/sched"
)

// Options say how a policy is replayed.
type Options struct {
	// Budget is how many polls an instant brings. A fraction is a rate: what is
	// left over is carried, up to one instant's worth (at least one poll).
	Budget float64

	Stakes
	Measures

	// Evidence is how much of the truth a poll shows. It changes what a policy
	// can learn, not what is captured.
	Evidence Evidence

	// Look, if set, is shown every poll: which page, at the end of which
	// instant, and whether it had changed.
	Look func(page, instant int, changed bool)

	// Progress, if set, is told when an instant begins.
	Progress func(instant int)
}

// Replay lets a policy poll its way through a grid, and scores what it
// captured. The policy is asked at the end of every instant, from 1 to the
// last; its polls take no time.
func Replay(ctx context.Context, g *Grid, p freshet.Policy, o Options) (Score, error) {
	if !(o.Budget >= 0) || o.Budget > 1e9 {
		return Score{}, &freshet.InvalidError{Field: "budget", Reason: fmt.Sprintf("%v is not a number of polls an instant", o.Budget)}
	}
	scorer := NewScorer(g, o.Stakes, o.Measures)
	if o.Budget == 0 || g.Instants == 0 {
		return scorer.Score(), nil
	}
	s := sched.New(p, unhindered(o.Budget, g))
	for page := range g.pages {
		s.Put(g.Start, freshet.Watched{Source: o.Stakes.source(g, page), Standing: freshet.Standing{Seen: g.Start}})
	}
	if o.Evidence == Dated {
		for page, id := range g.pages {
			if date := g.dateOf(page, 0); !date.IsZero() {
				s.Recall(freshet.Outcome{Source: id, Began: g.Start, Ended: g.Start, Result: freshet.First, Version: 1, Modified: date})
			}
		}
	}
	w := &gridWorld{grid: g, options: &o, scorer: scorer, instant: 1}
	return w.play(ctx, s, w)
}

// play lets a scheduler poll its way through the grid, in a world that is this
// one or has it at its heart.
func (w *gridWorld) play(ctx context.Context, s *sched.Scheduler, in sched.World) (Score, error) {
	if w.options.Progress != nil {
		w.options.Progress(w.instant)
	}
	if err := sched.Run(ctx, s, in); err != nil {
		return Score{}, fmt.Errorf("replaying: %w", err)
	}
	return w.scorer.Score(), nil
}

// unhindered returns limits of which only the budget binds, and that only by
// the instant: its stretch is longer than the whole grid, by a power of two so
// that a whole budget comes out whole.
func unhindered(budget float64, g *Grid) sched.Limits {
	stretch := 1
	for stretch <= g.Instants+1 && int64(stretch) < math.MaxInt64/int64(g.Instant)/4 {
		stretch *= 2
	}
	const all = math.MaxInt32
	return sched.Limits{
		Budget:  sched.Budget{Polls: budget * float64(stretch), Per: time.Duration(stretch) * g.Instant, Instant: g.Instant},
		Workers: all,
		Hosts:   sched.Politeness{Concurrency: all},
	}
}

// A gridWorld replays a grid in virtual time. It implements [sched.World]. Its
// time stands only at the ends of instants.
type gridWorld struct {
	grid    *Grid
	options *Options
	scorer  *Scorer
	instant int

	ends []freshet.Outcome // polls of this instant that have not been told
	told int
}

// Now implements [sched.World].
func (w *gridWorld) Now() time.Time { return w.grid.Time(w.instant) }

// Begin implements [sched.World]. The poll ends at once.
func (w *gridWorld) Begin(_ context.Context, p freshet.Poll) {
	now := w.Now()
	o := freshet.Outcome{Source: p.Source.ID, Cause: p.Cause, Since: p.Since, Began: now, Ended: now, Requests: 1}
	page, ok := w.grid.Page(o.Source)
	if !ok {
		panic("a poll of a page that is not on the grid: " + string(o.Source))
	}
	changed := w.scorer.Poll(page, w.instant)
	if changed {
		o.Result = freshet.Changed
	}
	happened := w.scorer.next[page] - w.grid.first[page]
	o.Version = 1 + happened
	if w.options.Evidence == Dated {
		o.Modified = w.grid.dateOf(page, happened)
	}
	if w.options.Look != nil {
		w.options.Look(page, w.instant, changed)
	}
	w.ends = append(w.ends, o)
}

// Wait implements [sched.World]. An alarm within an instant rings at its end.
func (w *gridWorld) Wait(ctx context.Context, alarm time.Time) (sched.Event, error) {
	if w.told < len(w.ends) {
		w.told++
		return sched.Event{Outcome: &w.ends[w.told-1]}, nil
	}
	w.ends, w.told = w.ends[:0], 0
	if err := ctx.Err(); err != nil {
		return sched.Event{}, err
	}
	if alarm.IsZero() || alarm.After(w.grid.Time(w.grid.Instants)) {
		return sched.Event{}, io.EOF
	}
	if j := w.grid.InstantOf(alarm); j > w.instant {
		w.instant = j
		if w.options.Progress != nil {
			w.options.Progress(j)
		}
	}
	return sched.Event{}, nil
}
