package sched

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// Observe learns from an outcome: of a poll that Next returned or, before the
// first poll, of one that is on record. Outcomes come in the order of the log.
// So do those of the sources that were read along with a poll, each with an outcome of
// its own. One that the source's standing rests on already is passed on to those who
// learn; of the standing, only when the source was last seen is taken from it.
func (s *Scheduler) Observe(now time.Time, o freshet.Outcome) {
	slot, ok := s.slots.get(string(o.Source))
	if !ok {
		s.skipOutcome(o.Cursor)
		return
	}
	e := s.entries.At(slot)
	s.bars[slot] = 0
	at := e.host
	switch {
	case e.aboard:
		s.disembark(e)
	case e.busy:
		if e.flight.at != nil {
			at = e.flight.at
		}
		rules := e.flight.rules
		if e.flight.robots != nil {
			rules = max(1, rules)
		}
		s.land(now, e, max(o.Requests, 0))
		// What was asked for robots.txt files the next poll need not ask for.
		o.Requests = min(o.Requests, max(1, o.Requests-rules))
	}
	if o.Cursor == 0 || o.Cursor > e.upto {
		e.upto = o.Cursor
		s.learn(now, e, at, o)
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
		s.tellSource(now, slot)
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
	slot, ok := s.slots.get(string(id))
	if !ok || !s.entries.At(slot).busy {
		return
	}
	e := s.entries.At(slot)
	s.bars[slot] = 0
	if e.aboard {
		s.sendBack(slot)
	} else {
		s.land(now, e, e.flight.granted())
	}
	if e.gone {
		s.release(slot)
		return
	}
	s.expect(now, slot)
}

// HostBackoff says that a host asked for no requests for some time. It comes before
// the outcome of the poll that got the answer, which may take long to be recorded.
type HostBackoff struct {
	Host string
	For  time.Duration
}

// backOffHost sends a host no requests for as long as it asked.
func (s *Scheduler) backOffHost(now time.Time, a HostBackoff) {
	until := now.Add(min(a.For, s.limits.Backoff.RetryAfter))
	s.hostNamed(a.Host).stayAway(until)
	s.alarms.set(until)
}

// land ends the poll under way of a source, which made so many requests.
func (s *Scheduler) land(now time.Time, e *entry, made int) {
	s.dropHop(e.source.ID)
	s.flying--
	if e.slow {
		e.slow = false
		s.slow--
	}
	f := e.flight
	left := max(made-f.answered, 0)
	s.ceiling.end(now, f.reserved, left)
	s.purse.left += float64(f.reserved - left)
	s.leave(now, f)
	for _, h := range f.ahead {
		h.heading--
	}
	if f.robots != nil {
		f.robots.reading = false
	}
	e.busy, e.flight = false, nil
}

// learn notes what an outcome says about when to come back. At is the host that
// answered, unless the outcome names it.
func (s *Scheduler) learn(now time.Time, e *entry, at *host, o freshet.Outcome) {
	e.polledAt(o.Began) // the disk can take its time between the decision and the request
	deferred := o.Failure.Is(freshet.FailDeferred)
	if o.Cause == freshet.BySharing { // the poll that it was read from tells of the host
		at = &host{}
	}
	if o.Requests > 0 && !deferred { // where a deferred poll wanted to go is known already
		e.requests, e.route = int32(min(o.Requests, math.MaxInt32)), s.routeOf(o.Route)
	}
	if hosts := s.routeOf(o.Route).all(); len(hosts) > 0 {
		at = hosts[len(hosts)-1]
		for _, h := range hosts[:len(hosts)-1] { // they answered, or there would be no next
			h.failures = 0
		}
	}
	if until := earlier(o.NotBefore, now.Add(s.limits.Backoff.RetryAfter)); until.After(now) {
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
		s.heed(e, o)
		at.failures = 0
		return
	case o.Failure.Ours():
		e.notBefore = max(e.notBefore, stampOf(now.Add(ownPause)))
		s.alarms.set(e.notBefore.time())
		return
	}
	e.failures++
	e.notBefore = stampOf(now.Add(s.limits.Backoff.source(o.Source, int(e.failures), o.Failure)))
	s.alarms.set(e.notBefore.time())
	if deferred {
		at.failures = 0
		return
	}
	if hostAtFault(o.Failure) {
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

// shut closes a host for its delay from at.
func (s *Scheduler) shut(h *host, at time.Time) {
	h.touched = later(h.touched, at)
	if delay := s.limits.Hosts.delayOf(h); delay > 0 {
		s.alarms.set(h.touched.Add(delay))
	}
}
