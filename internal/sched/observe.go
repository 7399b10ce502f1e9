package sched

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// Observe learns from an outcome: of a poll that Next returned or, before the
// first poll, of a recorded one. Outcomes come in the order of the log, those of a
// shared fetch one for each source. An outcome that the source's status includes
// already goes to the learners alone; it changes the status only in when the source
// was last seen.
func (s *Scheduler) Observe(now time.Time, o freshet.Outcome) {
	slot, ok := s.ids.get(string(o.Source))
	if !ok {
		s.skipOutcome(o.Cursor)
		return
	}
	e := s.entries.At(slot)
	s.bars[slot] = 0
	at := e.host
	switch {
	case e.shared:
		e.endShared()
	case e.busy:
		if e.flight.at != nil {
			at = e.flight.at
		}
		rules := e.flight.rules
		if e.flight.robots != nil {
			rules = max(1, rules)
		}
		s.end(now, e, max(o.Requests, 0))
		// What was asked for robots.txt files the next poll need not ask for.
		o.Requests = min(o.Requests, max(1, o.Requests-rules))
	}
	if o.Cursor == 0 || o.Cursor > e.upto {
		e.upto = o.Cursor
		s.noteOutcome(now, e, at, o)
	} else if e.seen = max(e.seen, stampOf(o.Since)); o.Result.Seen() {
		e.seen = max(e.seen, stampOf(o.Began))
	}
	if e.gone {
		s.release(slot)
		s.skipOutcome(o.Cursor)
		return
	}
	s.answerPush(slot, o)
	s.expect(now, slot)
	for _, l := range s.learners {
		l.Observe(now, slot, o)
	}
	if price := e.source.PriceAt(int(e.requests)); price > 1.2*e.price || price < 0.8*e.price {
		s.putToLearners(now, slot)
	}
}

// skipOutcome tells the learners that track their position in the log to step over an
// outcome of an unknown source: the source may come back, and a learner that restarts
// from its saved state must not learn from the outcome then.
func (s *Scheduler) skipOutcome(o freshet.Cursor) {
	for _, l := range s.learners {
		if p, ok := l.(interface{ SkipOutcome(freshet.Cursor) }); ok {
			p.SkipOutcome(o)
		}
	}
}

// abandon ends a poll without a record.
func (s *Scheduler) abandon(now time.Time, id freshet.SourceID) {
	slot, ok := s.ids.get(string(id))
	if !ok || !s.entries.At(slot).busy {
		return
	}
	e := s.entries.At(slot)
	s.bars[slot] = 0
	if e.shared {
		s.abandonShared(slot)
	} else {
		s.end(now, e, e.flight.granted())
	}
	if e.gone {
		s.release(slot)
		return
	}
	s.expect(now, slot)
}

// end ends the poll under way of a source, which made so many requests.
func (s *Scheduler) end(now time.Time, e *entry, made int) {
	s.permits.drop(e.source.ID)
	s.inFlight--
	if e.slow {
		e.slow = false
		s.slow--
	}
	f := e.flight
	left := max(made-f.answered, 0)
	s.budget.end(now, f.reserved, left)
	s.permits.leave(now, f)
	for _, h := range f.ahead {
		h.heading--
	}
	if f.robots != nil {
		f.robots.reading = false
	}
	e.busy, e.flight = false, nil
}

// noteOutcome notes what an outcome says about when to come back. At is the host that
// answered, unless the outcome names it.
func (s *Scheduler) noteOutcome(now time.Time, e *entry, at *host, o freshet.Outcome) {
	e.polledAt(o.Began) // the disk can take its time between the decision and the request
	deferred := o.Failure.Is(failure.Deferred)
	if o.Cause == freshet.BySharing { // the poll that fetched it counts for the host
		at = &host{}
	}
	if o.Requests > 0 && !deferred { // where a deferred poll wanted to go is known already
		e.requests, e.route = int32(min(o.Requests, math.MaxInt32)), s.hosts.routeOf(o.Route)
	}
	if hosts := s.hosts.routeOf(o.Route).all(); len(hosts) > 0 {
		at = hosts[len(hosts)-1]
		for _, h := range hosts[:len(hosts)-1] { // they answered, or there would be no next
			h.failures = 0
		}
	}
	until := earlier(o.NotBefore, now.Add(s.limits.Backoff.RetryAfter))
	atTarget := o.Failure.Is(failure.RedirectTarget)
	if until.After(now) && !atTarget {
		at.stayAway(until)
		s.alarms.set(until)
	}
	switch {
	case o.Result == freshet.Doubted: // the host answered, but the page was not seen
		e.failures, e.notBefore, e.again = 0, 0, stampOf(o.LookAgainAt())
		at.failures = 0
		return
	case o.Result.Seen():
		e.again = 0
		e.seen, e.failures, e.notBefore = stampOf(o.Began), 0, 0
		e.noteHint(o)
		at.failures = 0
		return
	case o.Failure.Ours():
		e.notBefore = max(e.notBefore, stampOf(now.Add(ownPause)))
		s.alarms.set(e.notBefore.time())
		return
	}
	e.failures++
	e.notBefore = stampOf(now.Add(s.limits.Backoff.source(o.Source, int(e.failures), o.Failure)))
	if atTarget {
		e.notBefore = max(e.notBefore, stampOf(until))
	}
	s.alarms.set(e.notBefore.time())
	if deferred {
		at.failures = 0
		return
	}
	if o.Failure.BlamesHost() {
		at.failures++
		if wait := s.limits.Backoff.host(at.name, at.failures); wait > 0 {
			at.notBefore = later(at.notBefore, now.Add(wait))
			s.alarms.set(at.notBefore)
		}
	}
}

// ownPause is how long a source is left alone at least after a poll that failed
// by our own doing.
const ownPause = time.Second

// noteHint takes over what a poll that saw a source says about how long it stays so.
func (e *entry) noteHint(o freshet.Outcome) {
	e.belied = e.belied || o.Belies(e.fresh.time())
	e.fresh = stampOf(o.FreshUntil())
}

// Resume counts, before the first poll, the attempts that a process before this one
// began shortly before now against the budget and the politeness. An attempt without
// an end is taken to have ended just now. Attempts of the last two periods of the
// budget are enough.
func (s *Scheduler) Resume(now time.Time, attempts []freshet.Attempt) {
	s.budget.start(now, s.limits.Budget)
	for _, a := range attempts {
		s.countSent(now, a)
	}
	s.budget.hard.sort()
}

// Follow observes an outcome of a poll that another process made, after Resume: its requests
// count as the attempts of Resume do. A scheduler that follows for long keeps no more than it
// needs to go on.
func (s *Scheduler) Follow(now time.Time, o freshet.Outcome) {
	s.Observe(now, o)
	if o.Cause != freshet.BySharing {
		s.countSent(now, freshet.Attempt{Source: o.Source, Began: o.Began, Ended: o.Ended, Requests: o.Requests, Route: o.Route})
	}
	s.alarms.ring(now)
	s.budget.hard.forget(now)
}

// countSent counts the requests of another process against the budget and the politeness.
func (s *Scheduler) countSent(now time.Time, a freshet.Attempt) {
	ended := a.Ended
	if ended.IsZero() || ended.After(now) {
		ended = now
	}
	s.budget.hard.end(ended, 0, max(1, a.Requests))
	s.countAttempt(a)
	for _, name := range a.Route.Hosts() {
		s.hosts.touch(s.hosts.named(name), ended)
	}
	slot, ok := s.ids.get(string(a.Source))
	if !ok {
		return
	}
	e := s.entries.At(slot)
	e.polledAt(a.Began)
	if a.Ended.IsZero() { // its request left some time after that
		e.polledAt(earlier(now, a.Began.Add(slowWrite)))
	}
	if a.Route == "" {
		s.hosts.touch(e.host, ended)
	}
	s.expect(now, slot)
}

// slowWrite is the longest that recording a poll is assumed to take.
const slowWrite = 10 * time.Second

// countAttempt counts a recorded attempt of before the first poll against the shares.
func (s *Scheduler) countAttempt(a freshet.Attempt) {
	requests := max(1, a.Requests)
	slot, known := s.ids.get(string(a.Source))
	if known {
		s.entries.At(slot).meter.count(a.Began, requests, s.shares.sourceSpacing())
	}
	hosts := a.Route.Hosts()
	for _, name := range hosts {
		h := s.hosts.named(name)
		h.meter.count(a.Began, 1, s.shares.hostSpacing(h))
	}
	if known {
		s.shares.charge(a.Began, s.entries.At(slot), requests)
	}
	if known && len(hosts) == 0 {
		h := s.entries.At(slot).host
		h.meter.count(a.Began, requests, s.shares.hostSpacing(h))
	}
}
