package learn

import (
	"math"

	"freshet"
)

// Observe learns from the outcome of a poll. Outcomes come in the order of the
// log; one that was learnt from already is passed over.
func (l *Learner) Observe(slot freshet.Slot, o freshet.Outcome) {
	if o.Cursor > 0 {
		if o.Cursor <= l.upto {
			return
		}
		l.upto = o.Cursor
	}
	if int(slot) >= len(l.pages) || l.pages[slot].site == nil {
		return
	}
	l.advance(l.clock.at(o.Ended))
	l.polls++
	if !o.Result.Seen() {
		return
	}
	p := &l.pages[slot]
	x := max(l.clock.at(o.Began), float64(l.open-window+1))
	if p.kind&unseen == 0 && o.Result != freshet.First && x > p.last {
		l.learn(slot, x, o)
	}
	p.kind &^= unseen
	p.last = x
	p.upto = p.site.clock(x, l.open)
	p.mass = 0
}

// learn takes in what a poll at x saw.
func (l *Learner) learn(slot freshet.Slot, x float64, o freshet.Outcome) {
	p, m := &l.pages[slot], &l.minds[slot]
	s := p.site
	changed := o.Result == freshet.Changed
	if p.rate == 0 {
		m.recall(&l.grid, l.priorOf(s))
		p.rate = float32(m.mean(&l.world))
	}
	if l.own[slot] == nil && l.ownShape[byHour] > 0 {
		l.own[slot] = newProfile()
		p.mass = max(0, float64(l.open)-p.last)
	}
	l.runCourse()
	l.observeSite(s)
	s.at(l, max(x, float64(l.open)), nil)
	var f vector
	mass := l.describe(slot, x, &f)

	turns := (x - p.last) * l.fair()
	m.redraw(turns, l.priorOf(s))
	chances, chance := m.foresee(&l.grid, l.priorOf(s), mass, &l.world)
	expected := l.fix.expect(&f, chance)
	l.reliability.add(-math.Expm1(-expected), changed)
	l.counts[slot].add(l.scale.at(x), (x-p.last)*l.clock.seconds(), expected, l.doubt(m, p), changed)
	l.fix.learn(&f, expected, changed)
	l.attribute(slot, x, mass, changed)
	m.forget(turns)
	m.see(&l.grid, mass, changed, &chances, &l.world)
	m.recall(&l.grid, l.priorOf(s))
	p.rate = float32(m.mean(&l.world))
}

// attribute says when what a poll saw is likely to have happened: changes go to
// the ticks since the last poll by how likely each was to have one.
func (l *Learner) attribute(slot freshet.Slot, x, mass float64, changed bool) {
	p := &l.pages[slot]
	s, own, rate := p.site, l.own[slot], float64(p.rate)
	count := 0.0
	if changed {
		count = expectedIfAny(rate * mass)
	}
	var weights [window]float64
	first := max(int64(math.Floor(p.last)), l.open-window+1)
	sum := 0.0
	for t := first; t <= l.open && float64(t) < x; t++ {
		width := min(x, float64(t+1)) - max(p.last, float64(t))
		w := width * l.activityAt(s, t)
		if own != nil {
			w *= own.at(&l.ownShape, l.phaseOf(t))
		}
		weights[t-first] = w
		sum += w
	}
	if !(sum > 0) {
		return
	}
	for t := first; t <= l.open && float64(t) < x; t++ {
		ph := l.phaseOf(t)
		width := min(x, float64(t+1)) - max(p.last, float64(t))
		seen := count * weights[t-first] / sum
		due := rate * width * l.paceAt(s, t, ph)
		relative := 1.0
		if own != nil {
			relative = own.at(&l.ownShape, ph)
			own.addPlain(&l.ownShape, ph, seen, due)
		}
		s.profile.add(&l.clock.shape, ph, seen, due*relative)
		l.common.add(&l.clock.shape, ph, seen, due*relative)
		if t > l.open-span {
			l.active.add(t, seen, due)
			if s.pulse != nil {
				s.add(t, seen, due)
			}
		}
	}
	s.dirty = true
	if own != nil {
		own.settle(&l.ownShape, nil, ownGrip)
	}
}

// paceAt returns the pace of a site's clock in one of the last ticks.
func (l *Learner) paceAt(s *site, tick int64, ph phase) float64 {
	switch {
	case tick == l.open:
		return s.pace
	case s.pulse != nil && tick > l.open-span:
		return float64(s.pulse.pace[place(tick)])
	}
	return s.profile.at(&l.clock.shape, ph)
}

// activityAt returns that pace, bent by what was seen in the tick on the site
// and elsewhere.
func (l *Learner) activityAt(s *site, tick int64) float64 {
	switch {
	case s.pulse != nil && tick > l.open-span:
		return float64(s.a.value[place(tick)])
	case tick > l.open-span:
		return l.paceAt(s, tick, l.phaseOf(tick)) * float64(l.course.value[place(tick)])
	}
	return l.paceAt(s, tick, l.phaseOf(tick))
}

// expectedIfAny returns how many changes are expected where x are, once it is
// known that there was one.
func expectedIfAny(x float64) float64 {
	if x < 1e-9 {
		return 1
	}
	return x / -math.Expm1(-x)
}

// redraw lets the switching memory's rate be drawn anew, as often as it would
// be in so many turns. A turn is the time in which all sources can be polled.
func (m *mind) redraw(turns float64, prior *spread) {
	q := m.of[switching].weigh(prior)
	m.of[switching].relax(&q, prior, math.Exp(-switches*turns))
}

// forget lets the other memories fade, partly by the poll and partly by the
// time.
func (m *mind) forget(turns float64) {
	for k, keep := range keeps {
		if keep > 0 {
			m.of[k].forget(math.Pow(keep, 1-byTime+byTime*turns))
		}
	}
}

// foresee returns what each memory takes the chance of a change in a mass to be,
// and all of them together.
func (m *mind) foresee(g *grid, prior *spread, mass float64, world *[memories]float64) (chances [memories]float64, mixed float64) {
	var stays spread
	for i, rate := range g {
		stays[i] = exp(-rate * mass)
	}
	weights := m.weights(world)
	for k := range m.of {
		q := m.of[k].weigh(prior)
		same := 0.0
		for i, w := range q {
			same += w * stays[i]
		}
		chances[k] = min(1-1e-9, max(1e-9, 1-same))
		mixed += weights[k] * chances[k]
	}
	return chances, mixed
}

// see takes in what a poll saw.
func (m *mind) see(g *grid, mass float64, changed bool, chances *[memories]float64, world *[memories]float64) {
	var fit spread
	for i, rate := range g {
		fit[i] = -rate * mass
		if changed {
			fit[i] = math.Log(-math.Expm1(-rate * mass))
		}
	}
	top := math.Inf(-1)
	for k := range m.of {
		right := chances[k]
		if !changed {
			right = 1 - right
		}
		score := math.Log(right)
		m.mix[k] = float32(pageGrip*float64(m.mix[k]) + score)
		world[k] += worldStep * score
		top = max(top, world[k])
		m.of[k].admit(&fit)
	}
	for k := range world {
		world[k] = worldGrip * (world[k] - top)
	}
}
