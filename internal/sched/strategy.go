package sched

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
)

// A source with a strategy is polled at the times that it names, and the policy has no
// say. Like a poll by hand, a planned poll is held back by no gap of all sources and by
// no share, but it waits for the hard budget, for the host, for a back-off and for the
// source's own MinGap. One that is late is made as soon as all of these allow; of
// several that were missed only one is made.

const (
	// retries is how many polls running may fail and be made again as soon as the
	// back-off ends. From then on the next time of the strategy is waited for.
	retries = 3

	// Planned polls need not wait for the step that would bring them room, as long as
	// they are no more than so many ahead of it, or than this part of the budget. What is
	// polled by hand then waits for so long at most.
	aheadMost = 10
	aheadPart = 4
)

// timetables are the strategies of sources, and when they want polls.
type timetables struct {
	sources  *sourceTable
	budget   *spending
	alarms   *alarms
	byTag    []freshet.TagStrategy           // of sources that have none of their own
	tables   map[string]*timetable.Timetable // of all strategies that there were
	ahead    time.Duration                   // of the clock that they go by
	planned  deadlines                       // when each source with a strategy is to be polled
	reserved int                             // requests that planned polls want soon, and others are not to spend
}

// A timing is what a strategy says of a source.
type timing struct {
	*timetable.Timetable
	since time.Time // when it came to be in force; zero if it was when the scheduler began
	next  time.Time // when the source is to be polled
}

// assign takes over the strategy that holds for a source, and reports whether that is
// another than before.
func (t *timetables) assign(now time.Time, e *entry) bool {
	table := t.tableOf(freshet.StrategyOf(e.source.whole(), t.byTag))
	switch {
	case table == nil && e.timing == nil, e.timing != nil && e.timing.Timetable == table:
		return false
	case table == nil:
		e.timing = nil
	default:
		e.timing = &timing{Timetable: table, since: now}
	}
	return true
}

// tableOf returns the timetable of a strategy, the same for the same; nil if there is
// none.
func (t *timetables) tableOf(strategy timetable.Strategy) *timetable.Timetable {
	if strategy.IsZero() {
		return nil
	}
	name := strategy.String()
	if table := t.tables[name]; table != nil {
		return table
	}
	table, err := strategy.Timetable()
	if err != nil { // its zone was there when it was read
		return nil
	}
	t.tables[name] = table
	return table
}

// plan notes when a source with a strategy is to be polled next.
func (t *timetables) plan(now time.Time, slot freshet.Slot) {
	e := t.sources.entries.At(slot)
	if e.timing.next = e.nextPlanned(now, t.ahead); !e.source.Paused {
		t.planned.push(deadline{e.timing.next, slot})
	}
}

// nextPlanned returns when the strategy of a source wants the next poll. It can be past.
func (e *entry) nextPlanned(now time.Time, ahead time.Duration) time.Time {
	kept := later(e.seen.time(), e.timing.since) // up to when all times have been kept
	if e.again != 0 || e.failures > retries {
		kept = later(kept, e.begun.time())
	}
	switch {
	case e.begun == 0: // a first look
		return e.source.hours.opens(now)
	case e.seen == 0 && e.again == 0 && e.failures <= retries:
		return e.source.hours.opens(e.begun.time())
	}
	return e.source.hours.opens(e.timing.Next(kept.Add(ahead)).Add(-ahead))
}

// isPlanned reports whether a planned poll still is.
func (t *timetables) isPlanned(d deadline) bool {
	e := t.sources.entries.At(d.slot)
	return e.used && !e.gone && e.timing != nil && !e.source.Paused && !e.busy && d.at.Equal(e.timing.next)
}

// neededSoon returns how many requests planned polls want within the next step. What
// others would spend meanwhile, they would not find again.
func (t *timetables) neededSoon(now time.Time) (requests int) {
	until := now.Add(t.budget.bucket.step)
	var count func(at int)
	count = func(at int) {
		if at >= len(t.planned.heap) || t.planned.heap[at].at.After(until) || requests >= t.budget.hard.most {
			return
		}
		d := t.planned.heap[at]
		if e := t.sources.entries.At(d.slot); d.at.After(now) && t.isPlanned(d) && e.notBefore <= stampOf(d.at) && !e.first().notBefore.After(d.at) {
			requests += t.budget.hard.atMost(int(e.requests))
		}
		count(2*at + 1)
		count(2*at + 2)
	}
	count(0)
	return requests
}

// wake returns when a planned poll may become possible.
func (t *timetables) wake(now time.Time) time.Time {
	if len(t.planned.heap) == 0 {
		return time.Time{}
	}
	first := t.planned.first()
	if first.After(now) {
		return first
	}
	wake := t.budget.bucket.next()
	for _, at := range []time.Time{t.alarms.first(), t.budget.hard.opens()} {
		if at.After(now) {
			wake = sooner(wake, at)
		}
	}
	return wake
}
