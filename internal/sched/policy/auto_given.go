package policy

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A promise is what the chances that somebody gave say of a source.
type promise struct {
	slot freshet.Slot
	learn.Promise
}

// takeGiven asks of which of the sources in [from, to) somebody gave chances, and takes
// what these say for what is expected.
func (a *Auto) takeGiven(now time.Time, from, to int) {
	a.learner.Promises(now, freshet.Slot(from), a.wait[from:to], func(slot freshet.Slot, p *learn.Promise) {
		a.given = append(a.given, promise{slot, *p})
		a.wait[slot] = p.Expected
	})
}

// promised returns what a poll is worth of a source of which chances were given. Where
// changes are no likelier in the coming minutes than they have been on the whole since it
// was last seen, that is as with any source. Where a change was expected and nothing else
// is, waiting brings nothing: a poll is worth all that it is expected to capture.
func (a *Auto) promised(slot int, p *learn.Promise, expected, gap, instants float64) float64 {
	plain := a.of(slot, expected, gap*instants)
	if a.aims[slot] != forCaptures || !p.Holds {
		return plain * ready(p)
	}
	const little = 0.01
	v, x, age := &a.values[a.kind[slot]], p.Expected, max(1, gap*instants)
	if !v.Replaced() {
		x = p.Count
	}
	gain := v.Gain(x, age)
	slope := (v.Gain(x+little, age) - gain) / little
	index := gain - p.Growth*gap*slope
	return max(plain, a.scale[forCaptures]*index+curious[forCaptures]*a.usual.worth*x) * ready(p)
}

// ready returns how much of its worth a poll has now: less of it, if what was given of
// its source is about to come.
func ready(p *learn.Promise) float64 {
	if chance := -math.Expm1(-p.Expected); p.Later > chance {
		return chance / p.Later
	}
	return 1
}

// quiet reports whether a source that was seen so many ticks ago is not worth a request
// where given chances alone say how many changes are expected since. Whoever gave them
// may be wrong: once a day it is looked at.
func (a *Auto) quiet(expected, gap float64) bool {
	return expected < a.least && gap*float64(a.learner.Tick()) < float64(daily)
}
