package sched

import (
	"time"

	"freshet/internal/freshet"
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

	// Planned polls need not wait for the instant that would bring them room, as long as
	// they are no more than so many ahead of it, or than this part of the budget. What is
	// polled by hand then waits for so long at most.
	aheadMost = 10
	aheadPart = 4
)

// SetStrategies changes when sources with a tag are polled that have no strategy of
// their own.
func (s *Scheduler) SetStrategies(now time.Time, byTag []freshet.TagStrategy) {
	s.strategies = byTag
	for slot, e := range s.entries.All {
		if e.used && !e.gone && s.timed(now, e) {
			s.tellSource(now, slot)
			s.expect(now, slot)
		}
	}
	s.beat = -1
}

// setClock says that the clock that strategies go by is so far ahead of the time of this
// world.
func (s *Scheduler) setClock(now time.Time, ahead time.Duration) {
	s.ahead = ahead
	for slot, e := range s.entries.All {
		if e.used && !e.gone && e.timing != nil {
			s.expect(now, slot)
		}
	}
}

// Timed reports whether any source has a strategy.
func (s *Scheduler) Timed() bool { return len(s.tables) > 0 }

// A timing is what a strategy says of a source.
type timing struct {
	*freshet.Timetable
	since time.Time // when it came to be in force; zero if it was when the scheduler began
	next  time.Time // when the source is to be polled
}

// timed takes over the strategy that holds for a source, and reports whether that is
// another than before.
func (s *Scheduler) timed(now time.Time, e *entry) bool {
	table := s.tableOf(freshet.StrategyOf(e.source.whole(), s.strategies))
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
func (s *Scheduler) tableOf(strategy freshet.Strategy) *freshet.Timetable {
	if strategy.IsZero() {
		return nil
	}
	name := strategy.String()
	if t := s.tables[name]; t != nil {
		return t
	}
	t, err := strategy.Timetable()
	if err != nil { // its zone was there when it was read
		return nil
	}
	if s.tables == nil {
		s.tables = map[string]*freshet.Timetable{}
	}
	s.tables[name] = t
	return t
}

// plan notes when a source with a strategy is to be polled next.
func (s *Scheduler) plan(now time.Time, slot freshet.Slot) {
	e := s.entries.At(slot)
	if e.timing.next = e.turn(now, s.ahead); !e.source.Paused {
		s.planned.push(deadline{e.timing.next, slot})
	}
}

// turn returns when it is the turn of a source with a strategy. It can be past.
func (e *entry) turn(now time.Time, ahead time.Duration) time.Time {
	kept := later(e.seen.time(), e.timing.since) // up to when all times have been kept
	if e.again != 0 || e.failures > retries {
		kept = later(kept, e.begun.time())
	}
	switch {
	case e.begun == 0: // a first look
		return now
	case e.seen == 0 && e.again == 0 && e.failures <= retries:
		return e.begun.time()
	}
	return e.timing.Next(kept.Add(ahead)).Add(-ahead)
}

// choosePlanned polls what a strategy wants.
func (s *Scheduler) choosePlanned(now time.Time) {
	var refused []deadline
	for s.planned.due(now) && s.mayPlan() {
		d := s.planned.pop()
		switch {
		case !s.isPlanned(d): // out of date
		case !s.take(now, d.slot, 0, freshet.ByStrategy):
			refused = append(refused, d)
		}
	}
	for _, d := range refused {
		s.planned.push(d)
	}
}

// isPlanned reports whether a planned poll still is.
func (s *Scheduler) isPlanned(d deadline) bool {
	e := s.entries.At(d.slot)
	return e.used && !e.gone && e.timing != nil && !e.source.Paused && !e.busy && d.at.Equal(e.timing.next)
}

// mayPlan reports whether there is room for a planned poll.
func (s *Scheduler) mayPlan() bool {
	most := max(aheadMost, s.limits.Budget.Polls/aheadPart)
	return s.purse.left > 1-most && s.limits.Workers > s.working() && s.ceiling.most > s.ceiling.used()
}

// spokenFor returns how many requests planned polls want within the next instant. What
// others would spend meanwhile, they would not find again.
func (s *Scheduler) spokenFor(now time.Time) (requests int) {
	until := now.Add(s.purse.instant)
	var count func(at int)
	count = func(at int) {
		if at >= len(s.planned.heap) || s.planned.heap[at].at.After(until) || requests >= s.ceiling.most {
			return
		}
		d := s.planned.heap[at]
		if e := s.entries.At(d.slot); d.at.After(now) && s.isPlanned(d) && e.notBefore <= stampOf(d.at) && !e.first().notBefore.After(d.at) {
			requests += s.ceiling.atMost(int(e.requests))
		}
		count(2*at + 1)
		count(2*at + 2)
	}
	count(0)
	return requests
}

// plannedWake returns when a planned poll may become possible.
func (s *Scheduler) plannedWake(now time.Time) time.Time {
	if len(s.planned.heap) == 0 {
		return time.Time{}
	}
	first := s.planned.first()
	if first.After(now) {
		return first
	}
	wake := s.purse.next()
	for _, at := range []time.Time{s.alarms.first(), s.ceiling.opens()} {
		if at.After(now) {
			wake = sooner(wake, at)
		}
	}
	return wake
}
