package lab

import (
	"cmp"
	"context"
	"slices"
	"time"

	"freshet"
	"freshet/sched"
)

// Spent returns how many polls were made within the period of a grid, but for
// first looks: in a replay every source counts as seen when it comes.
func (r *Recorded) Spent(g *Grid) (polls int) {
	for l := range r.looks.all() {
		if j := g.instantOf(l.at); j >= 1 && j <= g.Instants {
			polls++
		}
	}
	return polls
}

// Came returns how many sources came after the first instant of a grid.
func (r *Recorded) Came(g *Grid) (late int) {
	for page := range r.spans {
		if r.came(g, page) > 0 {
			late++
		}
	}
	return late
}

// Left returns how many sources went before the last instant of a grid.
func (r *Recorded) Left(g *Grid) (early int) {
	for page := range r.spans {
		if r.left(g, page) < g.Instants {
			early++
		}
	}
	return early
}

// came returns the instant at whose end a source takes part from then on.
func (r *Recorded) came(g *Grid, page int) int {
	return max(0, int((r.spans[page].from-g.Start.UnixNano())/int64(g.Instant)))
}

// left returns the last instant in which a source takes part.
func (r *Recorded) left(g *Grid, page int) int {
	if !r.spans[page].gone {
		return g.Instants
	}
	return g.instantOf(r.spans[page].to)
}

// instantOf is InstantOf for nanoseconds since 1970.
func (g *Grid) instantOf(ns int64) int { return g.InstantOf(time.Unix(0, ns)) }

// Own scores the polls that were really made, on a grid that the history was
// laid on: what the daemon itself did, by the same measure as a replay. It finds
// all that was recorded, because only what it found was.
func (r *Recorded) Own(g *Grid, k Stakes, m Measures) Score {
	s := NewScorer(g, k, m)
	for l := range r.looks.all() {
		if j := g.instantOf(l.at); !l.failed && j >= 1 && j <= g.Instants {
			s.Poll(int(l.page), j)
		}
	}
	return s.Score()
}

// Replay lets a policy poll its way through a grid that the history was laid
// on, as the function Replay does, with sources that come when they were first
// seen and go when they were no longer watched. If the evidence is Dated, those
// sources show dates that do so in the log, and the others none.
func (r *Recorded) Replay(ctx context.Context, g *Grid, p freshet.Policy, o Options) (Score, error) {
	if !(o.Budget > 0) || g.Instants == 0 {
		return Replay(ctx, g, p, o)
	}
	s := sched.New(p, unhindered(o.Budget, g))
	w := &peopledWorld{gridWorld: gridWorld{grid: g, options: &o, scorer: NewScorer(g, o.Stakes, o.Measures), instant: 1}, spans: r.spans}
	for page, id := range g.pages {
		comes, goes := r.came(g, page), r.left(g, page)
		source := freshet.Watched{Source: o.Stakes.source(g, page), Standing: freshet.Standing{Seen: g.Time(comes)}}
		switch {
		case comes >= g.Instants || goes < 1:
			continue
		case comes == 0:
			s.Put(g.Start, source)
		default:
			w.edits = append(w.edits, gridEdit{comes, sched.Event{Put: &source}})
		}
		if goes < g.Instants {
			w.edits = append(w.edits, gridEdit{goes + 1, sched.Event{Remove: id}})
		}
	}
	slices.SortStableFunc(w.edits, func(a, b gridEdit) int { return cmp.Compare(a.instant, b.instant) })
	return w.play(ctx, s, w)
}

// A gridEdit is a source that comes or goes, before the polls of an instant.
type gridEdit struct {
	instant int
	sched.Event
}

// A peopledWorld is a gridWorld in which sources come and go.
type peopledWorld struct {
	gridWorld
	spans []recordedSpan // by page
	edits []gridEdit     // in order
}

// Begin implements [sched.World].
func (w *peopledWorld) Begin(ctx context.Context, p freshet.Poll) {
	w.gridWorld.Begin(ctx, p)
	ended := &w.ends[len(w.ends)-1]
	if ended.Modified.IsZero() {
		return
	}
	if page, ok := w.grid.Page(ended.Source); ok && !w.spans[page].dates {
		ended.Modified = time.Time{}
	}
}

// Wait implements [sched.World].
func (w *peopledWorld) Wait(ctx context.Context, alarm time.Time) (sched.Event, error) {
	if w.told < len(w.ends) || len(w.edits) == 0 {
		return w.gridWorld.Wait(ctx, alarm)
	}
	next := w.edits[0]
	if !alarm.IsZero() && w.grid.InstantOf(alarm) < next.instant {
		return w.gridWorld.Wait(ctx, alarm)
	}
	w.ends, w.told = w.ends[:0], 0
	w.edits = w.edits[1:]
	if next.instant > w.instant {
		w.instant = next.instant
		if w.options.Progress != nil {
			w.options.Progress(w.instant)
		}
	}
	return next.Event, nil
}
