package estimate

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/freshet"
)

// Poisson takes each source to change at a rate of its own, independently of
// the past, and learns the rate from what polls found. A poll tells only
// whether the source has changed since it was last seen, not how often: the
// rate is the likeliest one given that. What is known of all sources together
// stands in for a source of which little is known.
//
// An outcome takes constant time, and a source constant memory. Of the
// intervals that hid a change only the number is kept, and the one length that,
// were it that of all of them, would pull the rate as hard as they do. That is
// exact where intervals are even, and the rate tends to the likeliest one where
// they are not.
//
// The zero Poisson is ready for use.
type Poisson struct {
	// Prior is the rate of change, per second, that is expected of a source
	// before anything is known of any. Zero means one a day.
	Prior float64

	notes []rateNotes // by slot
	there []bool      // by slot

	// For all sources together: estimated changes, and seconds
	// under watch.
	changes, watched float64

	// The chances within one span of time, which is nearly always the same.
	span    time.Duration
	chances []float64 // by slot
}

// rateNotes is what Poisson keeps of a source.
type rateNotes struct {
	rate    float64 // a second
	still   float64 // seconds in intervals without a change
	changed float64 // intervals with one
	length  float64 // seconds that each of these counts for
}

// confidence is how many changes the prior of a source counts for.
const confidence = 1

// Put implements [freshet.Estimator]. What is known of the source is kept
// through an edit.
func (p *Poisson) Put(_ time.Time, slot freshet.Slot, _ freshet.Source, _ time.Time) {
	for int(slot) >= len(p.notes) {
		p.notes, p.there, p.chances = append(p.notes, rateNotes{}), append(p.there, false), append(p.chances, 0)
	}
	if !p.there[slot] {
		p.there[slot] = true
		p.notes[slot] = rateNotes{rate: p.common()}
		p.chances[slot] = chanceWithin(p.notes[slot].rate, p.span)
	}
}

// Remove implements [freshet.Estimator].
func (p *Poisson) Remove(slot freshet.Slot) {
	if int(slot) < len(p.there) {
		p.there[slot], p.notes[slot], p.chances[slot] = false, rateNotes{}, 0
	}
}

// Observe implements [freshet.Estimator].
func (p *Poisson) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	d := o.Began.Sub(o.Since).Seconds()
	if o.Since.IsZero() || d <= 0 || !p.there[slot] {
		return
	}
	n := &p.notes[slot]
	switch o.Result {
	case freshet.Unchanged:
		n.still += d
	case freshet.Changed:
		n.admit(d)
		p.changes += IfAny(n.rate * d)
	default:
		return
	}
	p.watched += d
	n.learn(p.common())
	p.chances[slot] = chanceWithin(n.rate, p.span)
}

// common returns the rate of all sources taken together.
func (p *Poisson) common() float64 {
	prior := cmp.Or(p.Prior, 1.0/(24*60*60))
	return (p.changes + confidence) / (p.watched + confidence/prior)
}

// admit takes in an interval of d seconds that hid a change.
func (n *rateNotes) admit(d float64) {
	pull := (n.changed*share(n.rate*n.length) + share(n.rate*d)) / (n.changed + 1)
	n.changed++
	n.length = shareOf(pull) / n.rate
}

// learn finds the likeliest rate, if before any poll that of others counted for
// so many changes.
func (n *rateNotes) learn(common float64) {
	watched := n.still + confidence/common
	if n.changed == 0 {
		n.rate = confidence / watched
		return
	}
	n.rate = root(n.rate, func(rate float64) (value, slope float64) {
		value, slope = hidden(rate, n.length)
		return n.changed*value + confidence/rate - watched, n.changed*slope - confidence/(rate*rate)
	})
}

// Expect implements [freshet.Estimator].
func (p *Poisson) Expect(slot freshet.Slot, from, to time.Time) float64 {
	return p.notes[slot].rate * max(0, to.Sub(from).Seconds())
}

// Chances implements [freshet.Estimator].
func (p *Poisson) Chances(dst []float64, from, to time.Time) {
	if span := max(0, to.Sub(from)); span != p.span {
		p.span = span
		for slot := range p.notes {
			p.chances[slot] = chanceWithin(p.notes[slot].rate, span)
		}
	}
	clear(dst[copy(dst, p.chances):])
}

// chanceWithin returns the chance of at least one change.
func chanceWithin(rate float64, span time.Duration) float64 {
	return -math.Expm1(-rate * span.Seconds())
}
