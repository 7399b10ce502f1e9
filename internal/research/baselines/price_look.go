package baselines

import (
	"math"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// A view is what a look at a source shows.
type view struct {
	gain      float64 // of a poll now
	advantage float64 // of a poll now over the best later one
	wake      int64   // when to look again, if it is not polled now
	polls     float64 // that it wants an instant
}

// wakeShare is after how much of the time until it is due a steady source is
// looked at again: what it is worth has grown by then, and the price and what is
// expected of it may have changed.
const wakeShare = 0.5

// look looks at a source at an instant, at the present price.
func (p *Priced) look(slot freshet.Slot, at int64) view {
	return p.lookAt(slot, at, p.market.price)
}

// lookAt looks at a source as if polls had a price.
func (p *Priced) lookAt(slot freshet.Slot, at int64, price float64) view {
	page := &p.pages[slot]
	v := &p.values[page.value]
	rate, steady := p.rate(slot, at)
	if steady {
		s := steadyState(v, rate, page.factor, price)
		return s.view(v, page, at, int64(p.conf.Horizon))
	}
	h := int64(p.conf.Horizon)
	s := steadyState(v, p.expect(slot, at+h, at+2*h)/float64(h), page.factor, price)
	p.ahead.lay(page.since, at, max(0, min(h, p.market.end-at)), s.gap, func(from, to int64) float64 { return p.expect(slot, from, to) })
	return p.ahead.solve(v, page.factor, price, s)
}

// expect returns how many changes of a source are expected between the ends of
// two instants.
func (p *Priced) expect(slot freshet.Slot, from, to int64) float64 {
	return p.conf.Estimator.Expect(slot, p.grid.Time(from), p.grid.Time(to))
}

// rate returns how many changes of a source are expected an instant, over the
// horizon, and whether they are at all times the same, the time since it was
// last seen included.
func (p *Priced) rate(slot freshet.Slot, at int64) (rate float64, steady bool) {
	if p.conf.Estimator == nil {
		return evenChance, true
	}
	h := int64(p.conf.Horizon)
	rate = p.expect(slot, at, at+h) / float64(h)
	as := func(from, to int64) bool {
		x := p.expect(slot, from, to)
		return math.Abs(x-rate*float64(to-from)) <= 1e-9*max(x, rate)
	}
	// Parts of unequal length, so that changes that are counted in whole
	// numbers do not pass for a rate.
	from := at
	for _, part := range [...]int64{2, 5, 11, 23} {
		to := min(at+h, from+max(1, h*part/128))
		if from < to && !as(from, to) {
			return rate, false
		}
		from = to
	}
	since := p.pages[slot].since
	return rate, since >= at || as(since, at)
}

// A steadyPlan is how a source is best polled that changes at a steady rate.
type steadyPlan struct {
	rate   float64
	factor float64
	price  float64
	gap    float64 // between polls; infinite if none is worth the price
	gain   float64 // of a poll after that gap
	yield  float64 // an instant, price deducted
}

func steadyState(v *policy.Value, rate, factor, price float64) steadyPlan {
	s := steadyPlan{rate: rate, factor: factor, price: price, gap: v.Due(rate, price/factor)}
	if !math.IsInf(s.gap, 1) {
		s.gain = factor * v.Gain(rate*s.gap, s.gap)
		s.yield = (s.gain - price) / s.gap
	}
	return s
}

// worth returns what a source is worth so many instants after a poll, over what
// it is worth right after one.
func (s *steadyPlan) worth(age float64) float64 {
	if math.IsInf(s.gap, 1) {
		return 0
	}
	return s.gain - s.price - s.yield*max(0, s.gap-age)
}

// view is what a look at a steady source shows.
func (s *steadyPlan) view(v *policy.Value, page *pricedPage, at, horizon int64) view {
	age := float64(at - page.since)
	gain, slope := v.GainAndSlope(s.rate*age, age)
	w := view{gain: page.factor * gain}
	switch {
	case math.IsInf(s.gap, 1):
		w.advantage = w.gain - s.price
		w.wake = at + max(1, min(horizon, at-page.since)/2)
		return w
	case age >= s.gap:
		w.advantage = s.yield - page.factor*slope
		w.wake = at + 1
	default:
		w.advantage = w.gain - s.price - s.worth(age)
		w.wake = at + max(1, int64(wakeShare*(s.gap-age)))
	}
	w.polls = 1 / s.gap
	return w
}
