package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
)

// A sighting is what one poll saw of the time since the last one.
type sighting struct {
	at      float64 // in ticks
	mass    float64 // of the time since the last poll
	changed bool

	// Exposure is the mass by which the rate is judged: where it is known that
	// much was going on, a change says less about the source.
	exposure float64

	quiet float64 // mass of the time in which nothing changed by an index, where there was a change without a date
	dated dating
}

// mostDates is how many dates are read of one poll.
const mostDates = evidence.MaxDates + 1

// A dating is the changes since the last poll that a source gives dates, where it
// can be believed. Those of one tick count as one.
type dating struct {
	n       int                // 0 if nothing is dated
	all     bool               // the dates reach back to the last poll
	list    bool               // they are those of several changes
	ticks   [mostDates]int64   // the newest first
	moments [mostDates]float64 // the mass of each
	quiet   float64            // the mass of the rest of the time from since on: nothing changed in it

	// Since is the tick from which on every change is dated: that of the last poll,
	// if the dates reach back so far, and of the oldest of them otherwise. Of what came
	// before it nothing is known.
	since int64
}

// Dates are believed for as long as they agree with what polls see; trust is
// kept between 0 and 1.
const (
	firstTrust = 0.6
	believed   = 0.5
	trustGrip  = 0.8
)

// date looks at when a source says that it changed. Dates agree with a poll that saw
// a change if one of them falls into the time since the last poll, and with one
// that saw none if none does. It reports whether the source dates its changes and is
// believed.
func (l *expectations) date(slot freshet.Slot, o *freshet.Outcome, see *sighting) bool {
	if o.Modified.IsZero() && len(o.Dates) == 0 {
		return false
	}
	p := l.pages.At(slot)
	dates, n := l.datesOf(o, see.at)
	inside := n > 0 && dates[0] > p.last
	trusted := p.trust >= believed
	agrees := float32(0)
	if inside == see.changed {
		agrees = 1
	}
	p.trust = trustGrip*p.trust + (1-trustGrip)*agrees
	if !trusted || p.trust < believed {
		return false
	}
	if see.changed && inside {
		l.settleDates(slot, dates[:n], see)
	}
	return true
}

// datesOf returns when a source says that it has changed up to x, in ticks, the newest
// first. Dates that lie ahead say nothing.
func (l *population) datesOf(o *freshet.Outcome, x float64) (dates [mostDates]float64, n int) {
	put := func(t time.Time) {
		at := l.clock.at(t)
		if t.IsZero() || at > x {
			return
		}
		i := n
		for ; i > 0 && dates[i-1] < at; i-- {
			dates[i] = dates[i-1]
		}
		dates[i] = at
		n++
	}
	put(o.Modified)
	for _, t := range o.Dates[:min(len(o.Dates), evidence.MaxDates)] {
		put(t)
	}
	return dates, n
}

// settleDates takes in the dates of a change, the newest first.
func (l *expectations) settleDates(slot freshet.Slot, dates []float64, see *sighting) {
	p, d := l.pages.At(slot), &see.dated
	d.since, d.list = int64(math.Floor(p.last)), dates[len(dates)-1] < dates[0]
	for _, at := range dates {
		if at <= p.last {
			d.all = true
			break
		}
		tick := int64(math.Floor(at))
		if d.n > 0 && d.ticks[d.n-1] == tick {
			continue
		}
		d.ticks[d.n], d.moments[d.n] = tick, max(tiny, l.massOf(slot, tick))
		d.n++
	}
	known := see.mass
	if !d.all {
		d.since = d.ticks[d.n-1]
		known = d.moments[d.n-1] + l.massBetween(slot, float64(d.since+1), see.at)
	}
	for _, moment := range d.moments[:d.n] {
		known -= moment
	}
	d.quiet = max(0, known)
}

// redrawn is the chance that between two changes a source became one of another rate.
// Without it, sources that changed often and then no more would count as fast for long.
const redrawn = 0.01

// first begins with a source that was first seen at x. If it says when it had
// changed before that, it is known that it did then and not in between.
func (l *population) first(slot freshet.Slot, x float64, o *freshet.Outcome) {
	p, m := l.pages.At(slot), l.minds.At(slot)
	prior := l.priorOf(p)
	dates, n := l.datesOf(o, x)
	if n == 1 && x-dates[0] <= 1 {
		n = 0 // it may be no more than the moment of the look
	}
	for i := n - 1; i >= 0; i-- {
		tick, until := math.Floor(dates[i]), x
		if i > 0 {
			until = math.Floor(dates[i-1])
		}
		if until > tick { // those of one tick count as one
			m.past(&l.grid, prior, max(0, until-tick-1), l.turns(until-tick))
		}
	}
	l.noteBlank(slot)
	m.recall(&l.grid, prior)
	p.rate = float32(m.mean(&l.world))
}

// past takes in that a source changed in a tick, and then was quiet for so many ticks
// or turns.
func (m *mind) past(g *grid, prior *spread, quiet, turns float64) {
	var change, silence spread
	for i, rate := range g {
		change[i] = math.Log(-math.Expm1(-rate))
		silence[i] = -rate * quiet
	}
	for k := range m.of {
		of := &m.of[k]
		of.admit(&change)
		keep := 1 - redrawn
		if k == switching {
			keep *= math.Exp(-switches * turns)
		} else {
			of.forget(math.Pow(keeps[k], 1-byTime+byTime*turns))
		}
		q := of.weigh(prior)
		of.relax(&q, prior, keep)
		of.admit(&silence)
	}
}

// massOf returns the mass of one tick for a source.
func (l *expectations) massOf(slot freshet.Slot, tick int64) float64 {
	if tick <= l.open-window {
		return 1
	}
	ph := l.phaseOf(tick)
	mass := l.paceAt(l.pages.At(slot).site, tick, ph)
	if own := l.ownOf(slot); own.is() {
		mass *= own.at(&l.ownShape, ph)
	}
	return mass
}

// plainly is how far a poll that found changes says no more than that, where a list dates
// them. Changes that come in bursts or evenly are not each evidence of its own, as
// changes at random are.
const plainly = 0.3

// fit returns the logarithm of how likely a rate makes what was seen.
func (s *sighting) fit(rate float64) float64 {
	switch {
	case s.dated.n > 0:
		whole := rate
		if !s.dated.all {
			rate *= s.exposure / s.mass
		}
		sum := -rate * s.dated.quiet
		for _, moment := range s.dated.moments[:s.dated.n] {
			sum += math.Log(-math.Expm1(-rate * moment))
		}
		if s.dated.list {
			sum += plainly * (math.Log(-math.Expm1(-whole*s.exposure)) - sum)
		}
		return sum
	case s.changed:
		return math.Log(-math.Expm1(-rate*s.exposure)) - rate*s.quiet
	}
	return -rate * s.exposure
}

// hidden returns the share of the mass of which nothing is known, where changes are
// dated.
func (s *sighting) hidden() float64 {
	known := s.dated.quiet
	for _, moment := range s.dated.moments[:s.dated.n] {
		known += moment
	}
	return max(0, s.mass-known) / s.mass
}
