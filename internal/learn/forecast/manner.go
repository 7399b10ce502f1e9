package forecast

import (
	"math"

	"freshet/internal/freshet/objective"
)

// A manner is how captures of a source count: how long a change can be
// captured, and what it is worth by then. Times are in seconds.
//
// A change that happened an age before a poll is captured by it with a chance
// that never rises with the age (lasts), and is worth what never rises with it
// either (worth). So what a poll gains (gain) grows less and less with the time
// since the last poll, whatever the manner, and one price settles all gaps.
type manner struct {
	life    objective.VisibilityKind
	window  float64 // of a LifeWindow: the greatest age
	last    int     // of a LifeLast: the changes that can be captured
	decay   float64 // of the worth, a second; 0 if it does not decay exponentially
	within  float64 // the age after which it is worth nothing; +Inf if there is none
	instant float64
	urgency objective.Decay // asked if free is set
	free    bool            // the worth falls in some other way
}

func mannerOf(life objective.Visibility, urgency objective.Urgency, t Terms) manner {
	l, u := life.In(t.Instant), urgency.In(t.Instant)
	instant := t.Instant.Seconds()
	m := manner{life: l.Kind, last: l.N, window: float64(l.N+1) * instant, within: math.Inf(1), instant: instant}
	switch u.Kind {
	case objective.UrgencyUniform:
		if l.Kind == objective.VisibleForever {
			m.decay = 1 / t.Patience.Seconds()
		}
	case objective.UrgencyExp:
		switch {
		case u.A <= 0:
			m.within = instant
		case u.A < 1:
			m.decay = -math.Log(u.A) / instant
		}
	case objective.UrgencyWindow:
		m.within = (u.A + 1) * instant
	default:
		m.urgency, m.free = u, true
		m.within = u.End() * instant
	}
	return m
}

// lasts returns the chance that a change can still be captured at an age, when
// changes come at a rate.
func (m *manner) lasts(rate, age float64) float64 {
	switch m.life {
	case objective.VisibleForever:
		return 1
	case objective.VisibleFor:
		if age <= m.window {
			return 1
		}
		return 0
	case objective.VisibleLast:
		return fewer(rate*age, m.last)
	}
	return math.Exp(-rate * age)
}

// worth returns what a capture at an age is worth.
func (m *manner) worth(age float64) float64 {
	switch {
	case m.free:
		return worthBetween(m.urgency, age/m.instant)
	case age > m.within:
		return 0
	}
	return math.Exp(-m.decay * age)
}

// worthBetween returns an urgency between whole instants, on the line between
// its neighbours.
func worthBetween(u objective.Decay, t float64) float64 {
	whole := math.Floor(t)
	if whole > 1<<30 {
		return u.At(1 << 30)
	}
	a, b := u.At(whole), u.At(whole+1)
	return a + (t-whole)*(b-a)
}

// captured returns how many seconds' worth of changes, of the last ages up to
// age, a poll captures: the integral of lasts.
func (m *manner) captured(rate, age float64) float64 {
	switch m.life {
	case objective.VisibleForever:
		return age
	case objective.VisibleFor:
		return min(age, m.window)
	case objective.VisibleLast:
		sum, x := 0.0, rate*age
		eachTail(x, m.last, func(_ int, tail float64) { sum += tail })
		return sum / rate
	}
	return -math.Expm1(-rate*age) / rate
}

// waited returns the integral of the age times lasts.
func (m *manner) waited(rate, age float64) float64 {
	switch m.life {
	case objective.VisibleForever:
		return age * age / 2
	case objective.VisibleFor:
		w := min(age, m.window)
		return w * w / 2
	case objective.VisibleLast:
		sum, x := 0.0, rate*age
		eachTail(x, m.last+1, func(z int, tail float64) {
			if z > 1 {
				sum += float64(z-1) * tail
			}
		})
		return sum / (rate * rate)
	}
	return second(rate*age) / (rate * rate)
}

// end returns the age after which nothing is gained any more.
func (m *manner) end() float64 {
	if m.life == objective.VisibleFor {
		return min(m.within, m.window)
	}
	return m.within
}

// gain returns what a poll so long after the last brings: the integral of the
// rate times lasts times worth.
func (m *manner) gain(rate, gap float64) float64 {
	gap = min(gap, m.end())
	if m.free {
		return m.integrated(rate, gap)
	}
	if m.decay == 0 {
		return rate * m.captured(rate, gap)
	}
	switch m.life {
	case objective.VisibleForever, objective.VisibleFor:
		return rate * -math.Expm1(-m.decay*gap) / m.decay
	case objective.VisibleLast:
		sum, all := 0.0, rate+m.decay
		part := 1.0
		eachTail(all*gap, m.last, func(_ int, tail float64) {
			part *= rate / all
			sum += part * tail
		})
		return sum
	}
	all := rate + m.decay
	return rate / all * -math.Expm1(-all*gap)
}

// index returns what a poll brings over the best later one: the gain less what
// going on at its present pace would have brought. It never falls with the gap.
func (m *manner) index(rate, gap float64) float64 {
	if m.free || m.life == objective.VisibleLast {
		gain := m.gain(rate, gap)
		if gap > m.end() {
			return gain
		}
		if i := gain - gap*rate*m.lasts(rate, gap)*m.worth(gap); i > noise*gain {
			return i
		}
		return 0
	}
	// Closed forms, exact where the terms above all but cancel.
	all := m.decay
	if m.life == objective.VisibleUntilNext {
		all += rate
	}
	switch {
	case gap > m.end():
		return m.gain(rate, gap)
	case all == 0:
		return 0 // nothing is lost by waiting
	}
	return rate / all * second(all*gap)
}

// noise is how much of a gain is the rounding of its terms.
const noise = 1e-13

// integrated is gain where there is no closed form: Simpson's rule on stretches
// that grow with the age, as everything here changes by factors of age.
func (m *manner) integrated(rate, gap float64) float64 {
	f := func(age float64) float64 { return m.lasts(rate, age) * m.worth(age) }
	const stretches, factor = 24, 1.6
	from, to := 0.0, gap*math.Pow(factor, -(stretches-1))
	sum, at := 0.0, f(0)
	for range stretches {
		end := f(to)
		sum += (to - from) / 6 * (at + 4*f((from+to)/2) + end)
		from, to, at = to, to*factor, end
	}
	return rate * sum
}

// second returns 1-(1+x)e^-x.
func second(x float64) float64 {
	if x < 1e-2 { // where the terms all but cancel
		return x * x * (0.5 - x*(1.0/3-x*(1.0/8-x/30)))
	}
	return 1 - (1+x)*math.Exp(-x)
}

// fewer returns the chance of fewer than n changes when x are expected.
func fewer(x float64, n int) float64 {
	rest := 1.0
	eachTail(x, n, func(z int, tail float64) {
		if z == n {
			rest = 1 - tail
		}
	})
	return max(0, rest)
}

// eachTail shows the chance of at least z changes when x are expected, for z
// from 1 to n.
func eachTail(x float64, n int, show func(z int, tail float64)) {
	log, below := -x, 0.0 // of exactly z-1; of fewer than z
	for z := 1; z <= n; z++ {
		below += math.Exp(log)
		show(z, max(0, 1-below))
		log += math.Log(x / float64(z))
	}
}

// fresh returns the share of time in which our copy is up to date.
func fresh(rate, gap float64) float64 { return -math.Expm1(-rate*gap) / (rate * gap) }

// stale returns for how long, on average over time, our copy has been out of
// date.
func stale(rate, gap float64) float64 {
	x := rate * gap
	if x < 1e-3 { // where the terms all but cancel
		return gap * x * (1.0/6 - x*(1.0/24-x/120))
	}
	return gap/2 - 1/rate - math.Expm1(-x)/(rate*x)
}
