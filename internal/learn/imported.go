package learn

import (
	"math"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
)

// mostSteps is in how many steps at most the time of a lesson is gone through.
const mostSteps = 100_000

// Teach imports when a source changed: all that was ever imported, in the order in which it was.
// What the Learner has read before it skips. It learns how often the source changes, and at which hours, and counts neither
// polls nor captures. It reports whether anything was new.
func (l *Learner) Teach(slot freshet.Slot, told []imported.UpdateTime) bool {
	if l.next != nil {
		l.next.Teach(slot, slices.Clone(told))
	}
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return false
	}
	l.countTaught(slot, told)
	if len(told) <= int(l.pages.At(slot).imported) {
		return false
	}
	l.enter(slot)
	l.keep(slot)
	p, m := l.pages.At(slot), l.minds.At(slot)
	ticks := make([]int64, 0, len(told))
	for _, u := range told[p.imported:] {
		ticks = append(ticks, int64(math.Floor(l.clock.at(u.After.Add(u.Width()/2)))))
	}
	p.imported = int32(len(told))
	slices.Sort(ticks)
	ticks = slices.Compact(ticks) // those of one tick count as one
	prior := l.priorOf(p)
	var was contribution
	l.contribute(slot, &was)
	for i, next := range ticks[1:] { // of what came after the last of them nothing is known
		m.past(&l.grid, prior, float64(next-ticks[i]-1), 1) // it is news, however long ago: nobody has polled since
	}
	l.noteBlank(slot)
	m.recall(&l.grid, prior)
	p.rate = float32(m.mean(&l.world))
	l.recontribute(slot, &was)
	l.teachHours(slot, ticks)
	l.foresee(slot)
	return true
}

// A taught is how many changes of a source were imported, and over what time. It is not saved: after
// a Learner is restored, Teach is called again.
type taught struct {
	changes float64 // after the first, those of one tick as one
	seconds float64 // from the first to the last
	last    float64 // in ticks
}

// countTaught counts all update times of a source that were ever imported.
func (l *Learner) countTaught(slot freshet.Slot, told []imported.UpdateTime) {
	ticks := make([]int64, 0, len(told))
	for _, u := range told {
		ticks = append(ticks, int64(math.Floor(l.clock.at(u.After.Add(u.Width()/2)))))
	}
	slices.Sort(ticks)
	ticks = slices.Compact(ticks)
	if len(ticks) < 2 {
		return
	}
	first, last := ticks[0], ticks[len(ticks)-1]
	l.taught[slot] = taught{changes: float64(len(ticks) - 1), seconds: float64(last-first) * l.clock.seconds(), last: float64(last)}
}

// taughtAt returns how many changes of a source were imported, and over how many seconds, each
// worth half after the time after which polls are. A few always count: nothing else may be known.
func (l *Learner) taughtAt(slot freshet.Slot, x float64) (changes, seconds float64) {
	t := l.taught[slot]
	const few = 5
	fade := max(math.Exp2(-max(0, x-t.last)/l.scale.half), min(1, few/max(1, t.changes)))
	return t.changes * fade, t.seconds * fade
}

// teachHours takes in at which hours a source changed.
func (l *Learner) teachHours(slot freshet.Slot, ticks []int64) {
	p := l.pages.At(slot)
	l.beginOwn(slot)
	own, site := l.ownToAdd(slot), p.site.profile
	var bent bends
	if own.is() {
		bent = own.bends()
	}
	first, last := ticks[0], ticks[len(ticks)-1]
	step := max(1, (last-first)/mostSteps)
	due := float64(len(ticks)) / float64(last-first+1) * float64(step)
	add := func(tick int64, n, due float64) {
		ph, relative := l.clock.phase(tick), 1.0
		if own.is() {
			relative = bent.at(&l.ownShape, ph)
			own.add(&l.ownShape, ph, n, due)
		}
		site.add(&l.clock.shape, ph, n, due*relative)
	}
	for tick := first; tick <= last; tick += step {
		add(tick, 0, due)
	}
	for _, tick := range ticks {
		add(tick, 1, 0)
	}
	p.site.dirty = true
	if own.is() {
		own.settle()
	}
}
