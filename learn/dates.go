package learn

import (
	"math"

	"freshet"
)

// A sighting is what one poll saw of the time since the last one.
type sighting struct {
	at      float64 // in ticks
	mass    float64 // of the time since the last poll
	changed bool

	// Exposure is the mass by which the rate is judged: where it is known that
	// much was going on, a change says less about the source.
	exposure float64

	// Where the source says when it last changed, and can be believed: the
	// tick of that, the mass of that tick, and the mass of the time after it, in
	// which nothing changed. Of what came before it nothing is known.
	dated         bool
	tick          int64
	moment, after float64
}

// Dates are believed for as long as they agree with what polls see; trust is
// kept between 0 and 1.
const (
	firstTrust = 0.6
	believed   = 0.5
	trustGrip  = 0.8
)

// date looks at when a source says it last changed. A date agrees with a poll
// that saw a change if it falls into the time since the last poll, and with one
// that saw none if it does not. It reports whether the source dates its changes
// and is believed.
func (l *Learner) date(slot freshet.Slot, o freshet.Outcome, see *sighting) bool {
	if o.Modified.IsZero() {
		return false
	}
	p := &l.pages[slot]
	said := l.clock.at(o.Modified)
	tick := int64(math.Floor(said))
	inside := said > p.last && said <= see.at
	trusted := p.trust >= believed
	agrees := float32(0)
	if inside == see.changed {
		agrees = 1
	}
	p.trust = trustGrip*p.trust + (1-trustGrip)*agrees
	if !trusted || p.trust < believed {
		return false
	}
	if !see.changed || !inside || tick <= l.open-window {
		return true
	}
	see.dated, see.tick = true, tick
	see.moment = max(tiny, l.massOf(slot, tick))
	for t := tick + 1; t <= l.open && float64(t) < see.at; t++ {
		see.after += min(1, see.at-float64(t)) * l.massOf(slot, t)
	}
	return true
}

// first begins with a source that was first seen at x. If it says when it had
// last changed before that, it is known that it did then and not since.
func (l *Learner) first(slot freshet.Slot, x float64, o freshet.Outcome) {
	p, m := &l.pages[slot], &l.minds[slot]
	if quiet := x - l.clock.at(o.Modified); !o.Modified.IsZero() && quiet > 1 {
		var fit spread
		for i, rate := range l.grid {
			fit[i] = math.Log(-math.Expm1(-rate)) - rate*quiet
		}
		for k := range m.of {
			m.of[k].admit(&fit)
		}
	}
	m.recall(&l.grid, l.priorOf(p.site))
	p.rate = float32(m.mean(&l.world))
}

// massOf returns the mass of one of the last ticks for a source.
func (l *Learner) massOf(slot freshet.Slot, tick int64) float64 {
	ph := l.phaseOf(tick)
	mass := l.paceAt(l.pages[slot].site, tick, ph)
	if own := l.own[slot]; own != nil {
		mass *= own.at(&l.ownShape, ph)
	}
	return mass
}

// fit returns the logarithm of how likely a rate makes what was seen.
func (s *sighting) fit(rate float64) float64 {
	switch {
	case s.dated:
		return math.Log(-math.Expm1(-rate*s.moment)) - rate*s.after
	case s.changed:
		return math.Log(-math.Expm1(-rate * s.exposure))
	}
	return -rate * s.exposure
}

// hidden returns the share of the mass before the last change, where it is dated.
func (s *sighting) hidden() float64 {
	return max(0, s.mass-s.moment-s.after) / s.mass
}
