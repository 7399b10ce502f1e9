package paper

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
)

// wicRetold tells the chances of an estimator otherwise, to find out what it is
// about them that WIC heeds.
type wicRetold struct {
	freshet.Estimator
	later time.Duration // how long after their time chances are told
	least float64       // smaller chances are left out
}

// Chances implements [freshet.Estimator].
func (e wicRetold) Chances(dst []float64, from, to time.Time) {
	e.Estimator.Chances(dst, from.Add(-e.later), to.Add(-e.later))
	for i, x := range dst {
		if x < e.least {
			dst[i] = 0
		}
	}
}

// without returns the policy without small chances: the far tails of spreads.
func (p wicPolicy) without(least float64) wicPolicy {
	return func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy {
		return p(g, polls, wicRetold{Estimator: e, least: least})
	}
}

// later returns the policy with chances that come so many instants late.
func (p wicPolicy) later(instants int) wicPolicy {
	return func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy {
		return p(g, polls, wicRetold{Estimator: e, later: time.Duration(instants) * g.Instant})
	}
}
