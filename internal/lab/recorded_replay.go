package lab

import (
	"context"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// Spent returns how many polls were made within the period of a grid, but for
// first looks, because in a replay every source counts as seen when it comes, and for
// what was read from other polls.
func (r *Recorded) Spent(g *Grid) int { return r.looks.within(g) - r.free.within(g) }

// within counts the polls within the period of a grid.
func (l *lookList) within(g *Grid) (polls int) {
	for look := range l.all() {
		if j := g.instantOf(look.at); j >= 1 && j <= g.Instants {
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
func (r *Recorded) Own(g *Grid, k Weights, m Measures) Score {
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
// seen and go when they were no longer watched. If the evidence is Dated or a Feed,
// those sources show dates that do so in the log, and the others none.
func (r *Recorded) Replay(ctx context.Context, g *Grid, p freshet.Policy, o Options) (Score, error) {
	return Replay(ctx, g, p, r.options(g, o))
}

// options returns options by which sources come, go and show dates as they did.
func (r *Recorded) options(g *Grid, o Options) Options {
	o.dates = func(page int) bool { return r.spans[page].dates }
	o.absent = func(page int) bool { return r.came(g, page) > 0 || r.left(g, page) < 1 }
	for page, id := range g.pages {
		comes, goes := r.came(g, page), r.left(g, page)
		if comes >= g.Instants || goes < 1 {
			continue
		}
		if comes > 0 {
			source := freshet.SourceWithStatus{Source: o.source(g, page), Status: freshet.Status{Seen: g.Time(comes)}}
			o.Edits = append(o.Edits, Edit{At: g.Time(comes), Event: sched.SourcePut{Source: source}})
		}
		if goes < g.Instants {
			o.Edits = append(o.Edits, Edit{At: g.Time(goes + 1), Event: sched.SourceRemoved{Source: id}})
		}
	}
	slices.SortStableFunc(o.Edits, func(a, b Edit) int { return a.At.Compare(b.At) })
	return o
}
