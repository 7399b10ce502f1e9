package learn

import (
	"math"

	"freshet/internal/freshet"
	"freshet/internal/sched/column"
)

// longestGap is how many ticks without an outcome are gone through one by one.
// After a longer one, nothing that was going on before it is remembered anyway.
const longestGap = span

// advance lets ticks pass up to the moment x. Only outcomes drive it, so that
// the log of outcomes alone decides what a Learner thinks.
func (l *Learner) advance(x float64) {
	tick := int64(math.Floor(x))
	switch {
	case !l.began:
		l.beginFirst(tick)
	case tick-l.open > longestGap || tick < l.open-window:
		l.doChores(theLot)
		l.jump(tick)
	}
	for l.open < tick {
		l.close()
		l.begin(l.open + 1)
		l.todo.site, l.todo.page = 0, 0
		l.oweSweep()
	}
	l.doChores(l.sliceNow())
}

// beginFirst enters the first tick. Forecasts made before it leave no trace.
func (l *Learner) beginFirst(tick int64) {
	l.keepAll()
	l.began, l.open, l.scale.from = true, tick, float64(tick)
	for _, s := range l.sites {
		s.upto = 0
	}
	l.jump(tick)
	for _, p := range l.pages.All {
		if p.site != nil {
			p.upto, p.mass = p.site.clock(p.last, tick), 0
		}
	}
	l.reshape()
}

// jump begins anew at a tick, far from the one under way or before it: a long
// silence, or a clock that was set back.
func (l *Learner) jump(tick int64) {
	l.keepAll()
	skipped := float64(max(0, tick-l.open))
	l.scale.from += float64(min(0, tick-l.open)) // what was counted before counts as it did
	for _, p := range l.pages.All {
		if p.site != nil {
			p.mass += max(0, float64(tick)-max(p.last, float64(l.open)))
			p.last = min(p.last, float64(tick))
		}
	}
	l.recallIndexes(float64(tick))
	for _, s := range l.sites {
		s.upto += skipped
		if s.pulse != nil {
			s.pulse.reset()
		}
	}
	l.active = activity{}
	for t := tick - window + 1; t < tick; t++ {
		l.phases[int(uint64(t)%window)] = l.clock.phase(t)
	}
	l.begin(tick)
	l.arriveAll()
	l.fade()
}

// close ends the tick under way.
func (l *Learner) close() {
	l.doChores(theLot)
	l.pace += (l.polls - l.pace) / paceMemory
	l.polls = 0
	l.fade()
}

// paceMemory is over how many ticks the polls made are averaged.
const paceMemory = 256

// begin begins a tick.
func (l *Learner) begin(tick int64) {
	l.open = tick
	l.phases[int(uint64(tick)%window)] = l.clock.phase(tick)
	l.active.open(tick)
	l.common.settle(&l.clock.shape, nil, profileGrip)
}

// How many changes count as much as what is thought of a profile otherwise.
const (
	profileGrip = 20
	ownGrip     = 3
)

// phaseOf returns the phase of one of the last ticks.
func (l *Learner) phaseOf(tick int64) phase { return l.phases[int(uint64(tick)%window)] }

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
	next := shape{byHour: within(byHour, hoursWithin), byMinute: within(byMinute, minutesWithin)}
	if next[byHour] == 0 {
		next = shape{}
	}
	if next != was { // until now they were what they were
		l.catchUp(theLot)
	}
	if l.ownShape = next; next[byHour] == 0 {
		if was[byHour] > 0 {
			l.keepAll()
		}
		l.hours, l.minutes = column.Some[freshet.Slot, hours]{}, column.Some[freshet.Slot, minutes]{}
	}
}
