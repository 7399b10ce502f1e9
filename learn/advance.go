package learn

import "math"

// longestGap is how many ticks without an outcome are gone through one by one.
// After a longer one, nothing that was going on before it is remembered anyway.
const longestGap = span

// advance lets ticks pass up to the moment x. Only outcomes drive it, so that
// the log of outcomes alone decides what a Learner thinks.
func (l *Learner) advance(x float64) {
	tick := int64(math.Floor(x))
	switch {
	case !l.began:
		l.begin(tick)
	case tick-l.open > longestGap || tick < l.open-window:
		l.jump(tick)
	}
	for l.open < tick {
		l.close()
		l.enter(l.open + 1)
	}
}

// begin enters the first tick. Forecasts made before it leave no trace.
func (l *Learner) begin(tick int64) {
	l.began, l.open, l.scale.from = true, tick, float64(tick)
	for _, s := range l.sites {
		s.upto = 0
	}
	l.jump(tick)
	for slot := range l.pages {
		if p := &l.pages[slot]; p.site != nil {
			p.upto, p.mass = p.site.clock(p.last, tick), 0
		}
	}
	l.reshape()
}

// jump begins anew at a tick, far from the one under way or before it: a long
// silence, or a clock that was set back.
func (l *Learner) jump(tick int64) {
	skipped := float64(max(0, tick-l.open))
	l.scale.from += float64(min(0, tick-l.open)) // what was counted before counts as it did
	for slot := range l.pages {
		if p := &l.pages[slot]; p.site != nil {
			p.mass += max(0, float64(tick)-max(p.last, float64(l.open)))
			p.last = min(p.last, float64(tick))
		}
	}
	l.recallIndexes(float64(tick))
	for _, s := range l.sites {
		s.upto += skipped
		if s.pulse != nil {
			s.pulse = newPulse()
		}
	}
	l.active = activity{}
	for t := tick - window + 1; t < tick; t++ {
		l.phases[int(uint64(t)%window)] = l.clock.phase(t)
	}
	l.enter(tick)
	l.fade()
}

// close ends the tick under way.
func (l *Learner) close() {
	ph := l.phaseOf(l.open)
	begin := float64(l.open)
	for slot, own := range l.own {
		if own == nil {
			continue
		}
		p := &l.pages[slot]
		p.mass += (1 - max(0, p.last-begin)) * p.site.pace * own.at(&l.ownShape, ph)
	}
	for _, s := range l.sites {
		s.upto += s.pace
	}
	l.pace += (l.polls - l.pace) / paceMemory
	l.polls = 0
	l.fade()
	l.renewPriors()
}

// paceMemory is over how many ticks the polls made are averaged.
const paceMemory = 256

// enter begins a tick.
func (l *Learner) enter(tick int64) {
	l.open = tick
	ph := l.clock.phase(tick)
	l.phases[int(uint64(tick)%window)] = ph
	l.active.open(tick)
	l.common.settle(&l.clock.shape, nil, profileGrip)
	for _, s := range l.sites {
		if s.dirty {
			s.profile.settle(&l.clock.shape, l.common, profileGrip)
			s.dirty = false
		}
		s.pace = s.profile.at(&l.clock.shape, ph)
		if s.pulse != nil {
			s.open(tick)
			s.pulse.pace[place(tick)] = float32(s.pace)
		}
	}
}

// How many changes count as much as what is thought of a profile otherwise.
const (
	profileGrip = 20
	ownGrip     = 3
)

// phaseOf returns the phase of one of the last ticks.
func (l *Learner) phaseOf(tick int64) phase { return l.phases[int(uint64(tick)%window)] }

// renewPriors lets what is thought of each source go into the priors, some at
// every tick, so that no tick has to look at all.
func (l *Learner) renewPriors() {
	n := max(int(math.Ceil(sweeps*l.pace)), len(l.pages)/64+1)
	n = min(n, (len(l.pages)+2)/3)
	for ; n > 0; n-- {
		if l.sweep == len(l.pages) {
			l.endSweep()
		}
		slot := l.sweep
		l.sweep++
		p := &l.pages[slot]
		if p.site == nil || p.kind&unseen != 0 {
			continue
		}
		m := &l.minds[slot]
		prior := l.priorOf(p.site)
		m.recall(&l.grid, prior)
		p.rate = float32(m.mean(&l.world))
		if p.kind&lists != 0 {
			continue
		}
		q := m.of[long].weigh(prior)
		for i, w := range q {
			p.site.sum[i] += w
			l.all.sum[i] += w
			if f := p.site.family; f != nil {
				f.sum[i] += w
			}
		}
	}
}

// endSweep makes new priors of what the sweep has gathered.
func (l *Learner) endSweep() {
	l.sweep = 0
	l.reshape()
	l.all.learnAlone()
	for _, f := range l.families {
		f.learn(&l.all.prior)
	}
	for _, s := range l.sites {
		parent := &l.all.prior
		if s.family != nil {
			parent = &s.family.prior
		}
		if s.pages > 1 {
			s.learn(parent)
		} else {
			s.sum = spread{}
		}
	}
}

// Profiles of its own help a source only if it is seen more often than the cycle
// turns.
const (
	hoursWithin   = 24 * 60 * 60 // seconds between polls
	minutesWithin = 30 * 60
)

// reshape decides which profiles sources have for themselves. One that is there
// stays until it is far from being of use.
func (l *Learner) reshape() {
	was, gap := l.ownShape, l.revisit()
	within := func(c int, limit float64) int {
		if was[c] > 0 {
			limit *= 2
		}
		if gap > limit {
			return 0
		}
		return l.clock.shape[c]
	}
	l.ownShape[byHour] = within(byHour, hoursWithin)
	l.ownShape[byMinute] = within(byMinute, minutesWithin)
	if l.ownShape[byHour] == 0 {
		clear(l.own)
		l.ownShape = shape{}
	}
}
