package sched

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// Next returns the poll to make at now. When there is none, ok is false and
// wake says when to ask again; a zero wake means not before something happens.
func (s *Scheduler) Next(now time.Time) (p freshet.Poll, wake time.Time, ok bool) {
	s.budget.start(now, s.limits.Budget)
	if s.given == len(s.ready) {
		s.ready, s.given = s.ready[:0], 0
		s.choose(now)
	}
	if s.given < len(s.ready) {
		s.given++
		return s.ready[s.given-1], time.Time{}, true
	}
	return p, s.wake(now), false
}

// choose fills ready with what is to be polled at now: first what was asked
// for, then what strategies plan, then what its bound or a doubt makes overdue, then
// what the policy wants.
func (s *Scheduler) choose(now time.Time) {
	s.budget.bucket.fill(now)
	s.budget.hard.forget(now)
	s.alarms.ring(now)
	s.claim, s.timetables.reserved = claim{}, 0
	s.permits.grantAll(now)
	if s.room() > 0 {
		s.chooseAsked(now)
	}
	if len(s.timetables.planned.heap) > 0 {
		s.choosePlanned(now)
		s.timetables.reserved = s.timetables.neededSoon(now)
	}
	if s.room() <= 0 {
		return
	}
	if s.asks.skipped = s.isResting(now); s.asks.skipped {
		return
	}
	s.chooseOverdue(now)
	s.asks.again, s.shares.pressed = time.Time{}, false
	s.chooseOwed(now)
	s.askPolicy(now)
	s.chooseSpare(now)
}

func (s *Scheduler) chooseAsked(now time.Time) {
	kept := s.queue[:0]
	for _, slot := range s.queue {
		e := s.entries.At(slot)
		switch {
		case !e.used || !e.asked || e.gone:
		case s.room() > 0 && s.begin(now, slot, 0, s.causeOf(slot)):
			e.asked, e.hurry = false, false
			if p := s.pushes[slot]; p != nil {
				p.asks = false
			}
		default:
			kept = append(kept, slot)
		}
	}
	s.queue = kept
}

// choosePlanned polls what a strategy wants.
func (s *Scheduler) choosePlanned(now time.Time) {
	var refused []deadline
	for s.timetables.planned.due(now) && s.mayPlan() {
		d := s.timetables.planned.pop()
		switch {
		case !s.timetables.isPlanned(d): // out of date
		case !s.begin(now, d.slot, 0, freshet.ByStrategy):
			refused = append(refused, d)
		}
	}
	for _, d := range refused {
		s.timetables.planned.push(d)
	}
}

// mayPlan reports whether there is room for a planned poll.
func (s *Scheduler) mayPlan() bool {
	most := max(aheadMost, s.limits.Budget.Polls/aheadPart)
	return s.budget.bucket.left > 1-most && s.limits.Workers > s.working() && s.budget.hard.most > s.budget.hard.used()
}

func (s *Scheduler) chooseOverdue(now time.Time) {
	var refused []deadline
	for s.room() > 0 && s.overdue.due(now) {
		d := s.overdue.pop()
		switch {
		case !s.isDue(d): // out of date
		case !s.begin(now, d.slot, 0, s.entries.At(d.slot).dueBy(now)):
			refused = append(refused, d)
		}
	}
	for _, d := range refused {
		s.overdue.push(d)
	}
}

// isDue reports whether a deadline still holds for its slot.
func (t *sourceTable) isDue(d deadline) bool {
	e := t.entries.At(d.slot)
	return e.used && !e.gone && !e.source.Paused && !e.busy && d.at.Equal(e.due())
}

// chooseOwed polls for the groups that have had less of the budget than they are
// granted, before all others.
func (s *Scheduler) chooseOwed(now time.Time) {
	for _, g := range s.shares.minima {
		if !g.filled.IsZero() && now.After(g.filled) {
			g.owed = min(owedMost, g.owed+g.min*s.limits.Budget.PerSecond()*now.Sub(g.filled).Seconds())
		}
		g.filled = now
		n := min(int(math.Floor(g.owed)), s.room())
		if n <= 0 || g.rests.After(now) {
			continue
		}
		taken := 0
		s.policy.Choose(now, n, func(slot freshet.Slot, worth float64) bool {
			if taken >= n || !s.entries.At(slot).belongs(g) || s.room() <= 0 || !s.begin(now, slot, worth, freshet.ByPolicy) {
				return false
			}
			taken++
			return true
		})
		if taken == 0 {
			g.rests = now.Add(groupRest)
		}
	}
}

// chooseSpare polls for the groups whose max is soft with what the others have left of
// the budget.
func (s *Scheduler) chooseSpare(now time.Time) {
	if !s.shares.pressed || s.room() <= 0 {
		return
	}
	s.shares.spare = true
	s.askPolicy(now)
	s.shares.spare = false
}

// policyAsks is when the policy was last asked, and when it is to be asked again.
type policyAsks struct {
	again   time.Time // when the policy wants to be asked again
	quantum int64     // in which it was last asked; -1 means that it may be asked at once
	filled  bool      // it then had as many to offer as could be polled
	skipped bool      // something has happened since, and waits for the next quantum
}

// askPolicy polls what the policy wants.
func (s *Scheduler) askPolicy(now time.Time) {
	n := s.room()
	if n <= 0 {
		return
	}
	s.asks.quantum = s.budget.bucket.quantumAt(now)
	before := len(s.ready)
	s.asks.again = s.policy.Choose(now, n, func(slot freshet.Slot, worth float64) bool {
		return s.room() > 0 && s.begin(now, slot, worth, freshet.ByPolicy)
	})
	s.asks.filled = len(s.ready)-before == n
}

// quantumLength is the length of a quantum. Where steps are as fine as they get, the
// policy is asked once a quantum and not at every event: the cost of an ask grows
// with the sources that the scheduler refuses, and the events with the polls.
const quantumLength = finestStep / 8

// quantumAt returns the quantum at now, or -1 if there is none and the policy can be
// asked at every event.
func (p *tokenBucket) quantumAt(now time.Time) int64 {
	if p.step > finestStep {
		return -1
	}
	return int64(now.Sub(p.epoch) / quantumLength)
}

// isResting reports whether the policy is not to be asked before the next quantum. One
// that had more to offer than workers were free is asked sooner, when a good part
// of them is free again.
func (s *Scheduler) isResting(now time.Time) bool {
	quantum := s.budget.bucket.quantumAt(now)
	if quantum < 0 || quantum != s.asks.quantum {
		return false
	}
	return !s.asks.filled || s.room() < max(1, s.limits.Workers/8)
}

// room returns how many more polls may be begun now.
func (s *Scheduler) room() int {
	return min(s.budget.bucket.whole(), s.limits.Workers-s.working(), s.budget.hard.most-s.budget.hard.used()) - s.timetables.reserved
}

// begin begins a poll of a source if everything that could forbid it is open.
func (s *Scheduler) begin(now time.Time, slot freshet.Slot, worth float64, cause freshet.Cause) bool {
	if s.barred(now, slot) {
		return false
	}
	e := s.entries.At(slot)
	reserved := s.budget.hard.atMost(int(e.requests))
	switch {
	case !e.open(now, cause), s.claimed(slot, reserved):
		return false
	case cause == freshet.ByPolicy && e.timing != nil:
		return false
	case (cause == freshet.ByPolicy || cause == freshet.ByDoubt) && !s.shares.allow(now, e, cause):
		return false
	case !s.hosts.routeOpen(now, e) || !s.budget.hard.room(reserved):
		s.makeClaim(now, slot)
		return false
	}
	robotsFirst := s.hosts.needsRobots(now, e.first())
	e.busy, e.begun = true, stampOf(now)
	s.inFlight++
	s.budget.reserve(reserved)
	e.meter.count(now, reserved, s.shares.sourceSpacing())
	e.flight = &flight{reserved: reserved}
	for _, h := range e.beyond() {
		h.heading++
		e.flight.ahead = append(e.flight.ahead, h)
	}
	s.permits.enter(now, e.flight, e.first())
	s.shares.charge(now, e, 1)
	p := freshet.Poll{Source: e.source.whole(), At: now, Since: e.seen.time(), Worth: worth, Cause: cause, Pushed: s.pushedAt(slot)}
	if e.first() != e.host {
		p.Host = e.first().name
	}
	if robotsFirst {
		p.Robots, e.first().reading, e.flight.robots = true, true, e.first()
	}
	p.Along = s.beginShared(now, slot)
	s.ready = append(s.ready, p)
	return true
}

// barred reports whether a source cannot be polled at now because its host is shut, where
// that is quick to see: at high rates most of what a policy offers is refused for that,
// again and again. Where redirects or groups have a say, it leaves the answer to the
// others.
func (s *Scheduler) barred(now time.Time, slot freshet.Slot) bool {
	if s.bars[slot] > stampOf(now) {
		return true
	}
	e := s.entries.At(slot)
	if !e.used || e.requests > 1 || len(e.route.all()) > 0 || e.groups != nil || e.host.open(now, s.limits.Hosts) {
		return false
	}
	s.bars[slot] = stampOf(e.host.shutUntil(now, s.limits.Hosts))
	return true
}

// A claim belongs to the first poll, in the order of choice, that cannot begin
// because it needs several requests or several hosts at once. Until it can, no
// other poll takes the room or the hosts that it waits for: polls of one request
// would fill every gap, and a source behind redirects would never be polled.
type claim struct {
	held bool
	slot freshet.Slot
}

// makeClaim claims what a poll of a source lacks, unless another has a claim or it
// lacks what only time brings.
func (s *Scheduler) makeClaim(now time.Time, slot freshet.Slot) {
	e := s.entries.At(slot)
	way := e.way()
	if s.claim.held || e.requests <= 1 && len(way) == 1 { // a poll that failed on its way may have sent one request
		return
	}
	for _, h := range way {
		if h.notBefore.After(now) {
			return
		}
	}
	s.claim = claim{held: true, slot: slot}
}

// claimed reports whether a poll of so many requests would take what another has
// claimed.
func (s *Scheduler) claimed(slot freshet.Slot, requests int) bool {
	if !s.claim.held || s.claim.slot == slot {
		return false
	}
	first := s.entries.At(s.claim.slot)
	if !s.budget.hard.room(requests + s.budget.hard.atMost(int(first.requests))) {
		return true
	}
	way := first.way()
	return slices.ContainsFunc(s.entries.At(slot).way(), func(h *host) bool { return slices.Contains(way, h) })
}

// expect notes by when the source has to be polled.
func (s *Scheduler) expect(now time.Time, slot freshet.Slot) {
	e := s.entries.At(slot)
	if at := e.due(); !at.IsZero() {
		s.overdue.push(deadline{at, slot})
	}
	if e.timing != nil {
		s.timetables.plan(now, slot)
	}
	s.shares.setAlarms(now, e)
}

// wake returns when something may become possible by the mere passing of time.
func (s *Scheduler) wake(now time.Time) time.Time {
	return sooner(s.permits.wake(now), s.pollWake(now))
}

// pollWake returns when a poll may become possible.
func (s *Scheduler) pollWake(now time.Time) time.Time {
	if s.working() >= s.limits.Workers {
		return time.Time{}
	}
	return sooner(s.timetables.wake(now), s.choiceWake(now))
}

// choiceWake returns when a poll may become possible that no strategy plans.
func (s *Scheduler) choiceWake(now time.Time) time.Time {
	if s.budget.bucket.whole() <= 0 {
		return s.budget.bucket.next()
	}
	if s.room() <= 0 {
		return s.budget.hard.opens()
	}
	if s.asks.skipped { // what has happened since waits for the next quantum
		return s.budget.bucket.epoch.Add(time.Duration(s.asks.quantum+1) * quantumLength)
	}
	wake := sooner(sooner(s.alarms.first(), s.asks.again), s.commons.hours.wake(now))
	wake = sooner(wake, s.budget.hard.opens())
	if at := s.overdue.first(); at.After(now) {
		wake = sooner(wake, at)
	}
	if !wake.IsZero() && !wake.After(now) {
		// The policy, or a hard limit reached by several requests at once, wants
		// to be asked at a time that is past: the next step is soon enough.
		wake = s.budget.bucket.epoch.Add(time.Duration(s.budget.bucket.reached+1) * s.budget.bucket.step)
	}
	return wake
}
