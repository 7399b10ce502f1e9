package sched

import (
	"time"

	"freshet/internal/freshet"
)

// Next returns the poll to make at now. When there is none, ok is false and
// wake says when to ask again; a zero wake means not before something happens.
func (s *Scheduler) Next(now time.Time) (p freshet.Poll, wake time.Time, ok bool) {
	s.start(now)
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
	s.purse.fill(now)
	s.ceiling.forget(now)
	s.alarms.ring(now)
	s.claim, s.reserved = claim{}, 0
	s.tryHops(now)
	if s.budget() > 0 {
		s.chooseAsked(now)
	}
	if len(s.planned.heap) > 0 {
		s.choosePlanned(now)
		s.reserved = s.spokenFor(now)
	}
	if s.budget() <= 0 {
		return
	}
	if s.skipped = s.rests(now); s.skipped {
		return
	}
	s.chooseOverdue(now)
	s.again, s.pressed = time.Time{}, false
	s.chooseOwed(now)
	s.askPolicy(now)
	s.chooseSpare(now)
}

// askPolicy polls what the policy wants.
func (s *Scheduler) askPolicy(now time.Time) {
	n := s.budget()
	if n <= 0 {
		return
	}
	s.beat = s.beatAt(now)
	before := len(s.ready)
	s.again = s.policy.Choose(now, n, func(slot freshet.Slot, worth float64) bool {
		return s.budget() > 0 && s.take(now, slot, worth, freshet.ByPolicy)
	})
	s.filled = len(s.ready)-before == n
}

// beatLength is how long a beat is. Where instants are as fine as they get, the
// policy is asked once a beat and not at every event: what an ask costs grows
// with the sources that it refuses, and the events with the polls.
const beatLength = finestInstant / 8

// beatAt returns the beat at now, or -1 if there is none and the policy can be
// asked at every event.
func (s *Scheduler) beatAt(now time.Time) int64 {
	if s.purse.instant > finestInstant {
		return -1
	}
	return int64(now.Sub(s.purse.epoch) / beatLength)
}

// rests reports whether the policy is not to be asked before the next beat. One
// that had more to offer than workers were free is asked sooner, when a good part
// of them is free again.
func (s *Scheduler) rests(now time.Time) bool {
	beat := s.beatAt(now)
	if beat < 0 || beat != s.beat {
		return false
	}
	return !s.filled || s.budget() < max(1, s.limits.Workers/8)
}

// budget returns how many more polls may be begun now.
func (s *Scheduler) budget() int {
	return min(s.purse.whole(), s.limits.Workers-s.working(), s.ceiling.most-s.ceiling.used()) - s.reserved
}

func (s *Scheduler) chooseAsked(now time.Time) {
	kept := s.asked[:0]
	for _, slot := range s.asked {
		e := s.entries.At(slot)
		switch {
		case !e.used || !e.asked || e.gone:
		case s.budget() > 0 && s.take(now, slot, 0, s.askedBy(slot)):
			e.asked, e.hurry = false, false
			if p := s.pushes[slot]; p != nil {
				p.asks = false
			}
		default:
			kept = append(kept, slot)
		}
	}
	s.asked = kept
}

func (s *Scheduler) chooseOverdue(now time.Time) {
	var refused []deadline
	for s.budget() > 0 && s.overdue.due(now) {
		d := s.overdue.pop()
		switch {
		case !s.stands(d): // out of date
		case !s.take(now, d.slot, 0, s.entries.At(d.slot).dueBy(now)):
			refused = append(refused, d)
		}
	}
	for _, d := range refused {
		s.overdue.push(d)
	}
}

// stands reports whether a deadline still holds for its slot.
func (s *Scheduler) stands(d deadline) bool {
	e := s.entries.At(d.slot)
	return e.used && !e.gone && !e.source.Paused && !e.busy && d.at.Equal(e.due())
}

// take begins a poll of a source if everything that could forbid it is open.
func (s *Scheduler) take(now time.Time, slot freshet.Slot, worth float64, cause freshet.Cause) bool {
	if s.barred(now, slot) {
		return false
	}
	e := s.entries.At(slot)
	reserved := s.ceiling.atMost(int(e.requests))
	switch {
	case !e.open(now, cause), s.claimed(slot, reserved):
		return false
	case cause == freshet.ByPolicy && e.timing != nil:
		return false
	case (cause == freshet.ByPolicy || cause == freshet.ByDoubt) && !s.courteous(now, e, cause):
		return false
	case !s.routeOpen(now, e) || !s.ceiling.room(reserved):
		s.stake(now, slot)
		return false
	}
	strange := s.strange(now, e.first())
	e.busy, e.begun = true, stampOf(now)
	s.flying++
	s.purse.left -= float64(reserved)
	s.ceiling.begin(reserved)
	e.meter.count(now, reserved, s.sourceSpacing())
	e.flight = &flight{reserved: reserved}
	for _, h := range e.beyond() {
		h.heading++
		e.flight.ahead = append(e.flight.ahead, h)
	}
	s.enter(now, e.flight, e.first())
	s.charge(now, e, 1)
	p := freshet.Poll{Source: e.source.whole(), At: now, Since: e.seen.time(), Worth: worth, Cause: cause, Pushed: s.pushedAt(slot)}
	if e.first() != e.host {
		p.Host = e.first().name
	}
	if strange {
		p.Robots, e.first().reading, e.flight.robots = true, true, e.first()
	}
	p.Along = s.along(now, slot)
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

// open reports whether the source itself may be polled at now. A poll asked
// for by hand need not wait for a back-off, and may look at a paused source.
func (e *entry) open(now time.Time, cause freshet.Cause) bool {
	if !e.used || e.gone || e.busy {
		return false
	}
	if !cause.Wished() && (e.source.Paused || e.notBefore > stampOf(now)) {
		return false
	}
	if cause.Wished() && e.hurry {
		return true
	}
	return e.source.MinGap == 0 || e.begun == 0 || !e.begun.time().Add(e.source.MinGap).After(now)
}

// due returns when the source has to be polled: when its MaxGap runs out, or a suspect
// capture wants a second look.
func (e *entry) due() time.Time { return sooner(e.runsOut(), e.again.time()) }

// runsOut returns when the source's MaxGap runs out.
func (e *entry) runsOut() time.Time {
	if e.source.MaxGap == 0 || e.begun == 0 || e.timing != nil {
		return time.Time{}
	}
	return e.begun.time().Add(e.source.MaxGap)
}

// dueBy returns why a source that is due at now is.
func (e *entry) dueBy(now time.Time) freshet.Cause {
	if at := e.runsOut(); !at.IsZero() && !at.After(now) {
		return freshet.ByBound
	}
	return freshet.ByDoubt
}

// expect notes by when the source has to be polled.
func (s *Scheduler) expect(now time.Time, slot freshet.Slot) {
	e := s.entries.At(slot)
	if at := e.due(); !at.IsZero() {
		s.overdue.push(deadline{at, slot})
	}
	if e.timing != nil {
		s.plan(now, slot)
	}
	s.remind(now, e)
}

// wake returns when something may become possible by the mere passing of time.
func (s *Scheduler) wake(now time.Time) time.Time {
	return sooner(s.hopWake(now), s.pollWake(now))
}

// pollWake returns when a poll may become possible.
func (s *Scheduler) pollWake(now time.Time) time.Time {
	if s.working() >= s.limits.Workers {
		return time.Time{}
	}
	return sooner(s.plannedWake(now), s.choiceWake(now))
}

// choiceWake returns when a poll may become possible that no strategy plans.
func (s *Scheduler) choiceWake(now time.Time) time.Time {
	if s.purse.whole() <= 0 {
		return s.purse.next()
	}
	if s.budget() <= 0 {
		return s.ceiling.opens()
	}
	if s.skipped { // what has happened since waits for the next beat
		return s.purse.epoch.Add(time.Duration(s.beat+1) * beatLength)
	}
	wake := sooner(s.alarms.first(), s.again)
	wake = sooner(wake, s.ceiling.opens())
	if at := s.overdue.first(); at.After(now) {
		wake = sooner(wake, at)
	}
	if !wake.IsZero() && !wake.After(now) {
		// The policy, or a ceiling reached by several requests at once, wants
		// to be asked at a time that is past: the next instant is soon enough.
		wake = s.purse.epoch.Add(time.Duration(s.purse.reached+1) * s.purse.instant)
	}
	return wake
}
