package forecast

import (
	"math"
	"time"
)

// A Goal is a wanted share or delay. Exactly one of Share and Delay
// is set, or Share and Within.
type Goal struct {
	Share  float64       // of the changes that is to be captured
	Within time.Duration // in this time; 0 means at all
	Delay  time.Duration // on average, of a captured change
}

// misses returns by how much a stance misses a goal: no more than 0 if it is
// reached.
func (m *Market) misses(g Goal, st stance) float64 {
	total := m.at(st)
	switch {
	case g.Delay > 0 && total.captured == 0:
		return math.Inf(1)
	case g.Delay > 0:
		return total.delay/total.captured - g.Delay.Seconds()
	case total.changes == 0:
		return 0
	case g.Within > 0:
		all := total.captured / total.changes
		if all == 0 {
			return g.Share
		}
		return g.Share - m.capturedWithin(st, g.Within.Seconds())/total.changes*m.anchor.share(all, m.anchor.mean)/all
	}
	return g.Share - m.anchor.share(total.captured/total.changes, m.anchor.mean)
}

// Least returns what is expected of the least budget from which on a goal is
// reached. If it is not reached even by 256 times the present, it returns that,
// and false.
func (m *Market) Least(g Goal) (Point, bool) {
	if !m.shared() {
		return m.leastAtPrices(g)
	}
	missed := func(x float64) bool {
		held, st := m.settle(m.terms.Budget*math.Exp(x), 0)
		return held.misses(g, st) > 0
	}
	lo, hi := -math.Log(far), math.Log(far)
	if missed(hi) {
		return m.At(m.terms.Budget * far), false
	}
	const steps = 32
	for step := (hi - lo) / steps; hi > lo+step && !missed(hi-step); {
		hi -= step
	}
	_, x := bisect(max(lo, hi-(math.Log(far)*2)/steps), hi, 1e-3, missed)
	return m.At(m.terms.Budget * math.Exp(x)), true
}

// leastAtPrices is Least where what a budget brings depends on the price of a poll
// alone.
func (m *Market) leastAtPrices(g Goal) (Point, bool) {
	idle, top := m.edges()
	missed := func(st stance) bool { return m.misses(g, st) > 0 }
	if g.Delay == 0 && !missed(atLongest(1)) { // longer gaps than the longest would do
		_, x := bisect(-math.Log(far), 0, 1e-3, func(x float64) bool { return missed(atLongest(math.Exp(-x))) })
		return m.pointAt(idle*math.Exp(x), atLongest(math.Exp(-x))), true
	}
	most := m.clear(m.terms.Budget*far, 0)
	if missed(most) || most.price > top {
		return m.pointAt(m.terms.Budget*far, most), !missed(most)
	}
	lo, hi := -math.Log(top), -math.Log(most.lower)
	if g.Delay > 0 {
		lo, hi = m.turn(g, lo, hi)
	}
	if lo == hi { // it is always reached
		return m.pointAt(idle, atLongest(1)), true
	}
	for hi-lo > 1e-11 && m.wants(math.Exp(-hi)) > 1.002*m.wants(math.Exp(-lo)) {
		if mid := (lo + hi) / 2; missed(atPrice(mid)) {
			lo = mid
		} else {
			hi = mid
		}
	}
	st := atPrice(hi)
	if hi-lo <= 1e-11 { // demand jumps here, and a part of the jump will do
		between := func(part float64) stance {
			return stance{price: math.Exp(-lo), lower: math.Exp(-hi), part: part, stretch: 1}
		}
		_, part := bisect(0, 1, 1e-3, func(part float64) bool { return missed(between(part)) })
		st = between(part)
	}
	p := m.pointAt(0, st)
	p.Budget = p.Spent
	return p, true
}

// atPrice is the stance at a price, given as the negative of its logarithm.
func atPrice(x float64) stance {
	return stance{price: math.Exp(-x), lower: math.Exp(-x), stretch: 1}
}

// turn returns where, on the way down from hi, a mean delay is first missed. It
// need not grow all the way: with next to no polls only the last of many changes
// is ever captured, and that one was not long ago.
func (m *Market) turn(g Goal, lo, hi float64) (from, to float64) {
	const steps = 64
	step := (hi - lo) / steps
	for range steps {
		if m.misses(g, atPrice(hi-step)) > 0 {
			return hi - step, hi
		}
		hi -= step
	}
	return lo, lo
}

// bisect narrows down, to within so much, where a goal that is missed at lo and
// not at hi is no longer missed. It still is at from, and at to it is not.
func bisect(lo, hi, within float64, missed func(float64) bool) (from, to float64) {
	for hi-lo > within {
		if mid := (lo + hi) / 2; missed(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}

// capturedWithin returns how many changes a second are captured within a time.
func (m *Market) capturedWithin(st stance, within float64) (total float64) {
	if math.IsInf(st.stretch, 1) {
		return 0
	}
	for i := range m.classes {
		c := &m.classes[i]
		at := c.n * c.rate * c.within(c.gap(st.price)*st.stretch, within)
		if st.part > 0 {
			at += st.part * (c.n*c.rate*c.within(c.gap(st.lower)*st.stretch, within) - at)
		}
		total += at
	}
	return total
}
