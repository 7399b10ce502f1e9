package sched

import (
	"time"

	"freshet"
)

// Observe learns from an outcome: of a poll that Next returned or, before the
// first poll, of one that is on record. Outcomes come in the order of the log.
// One that the source's standing rests on already is passed on to those who
// learn; of the standing, only when the source was last seen is taken from it.
func (s *Scheduler) Observe(now time.Time, o freshet.Outcome) {
	slot, ok := s.slots[o.Source]
	if !ok {
		return
	}
	e := &s.entries[slot]
	if e.busy {
		s.land(now, e, max(o.Requests, 0))
	}
	if o.Cursor == 0 || o.Cursor > e.upto {
		e.upto = o.Cursor
		s.learn(now, e, o)
	} else if e.seen = later(e.seen, o.Since); o.Result.Seen() {
		e.seen = later(e.seen, o.Began)
	}
	if e.gone {
		s.release(slot)
		return
	}
	s.expect(slot)
	for _, l := range s.learners {
		l.Observe(now, slot, o)
	}
}

// Abandon ends a poll that Next returned and that left nothing on record, because
// its source was removed meanwhile. The requests that it had reserved count as
// made. Nothing is learnt from it: only the record teaches.
func (s *Scheduler) Abandon(now time.Time, id freshet.SourceID) {
	slot, ok := s.slots[id]
	if !ok || !s.entries[slot].busy {
		return
	}
	e := &s.entries[slot]
	s.land(now, e, e.requests)
	if e.gone {
		s.release(slot)
		return
	}
	s.expect(slot)
}

// land ends the poll under way of a source, which made so many requests.
func (s *Scheduler) land(now time.Time, e *entry, made int) {
	s.flying--
	s.ceiling.end(now, e.requests, made)
	s.purse.left -= float64(made - e.requests)
	e.busy = false
	e.host.flying--
	s.shut(e.host, now)
}

// learn notes what an outcome says about when to come back.
func (s *Scheduler) learn(now time.Time, e *entry, o freshet.Outcome) {
	if o.Requests > 0 {
		e.requests = o.Requests
	}
	if until := earlier(o.NotBefore, now.Add(s.limits.Backoff.RetryAfter)); until.After(now) {
		e.host.stayAway(until)
		s.alarms.set(until)
	}
	if o.Result.Seen() {
		e.seen, e.failures, e.notBefore = o.Began, 0, time.Time{}
		e.host.failures = 0
		return
	}
	e.failures++
	e.notBefore = now.Add(s.limits.Backoff.source(o.Source, e.failures, o.Failure))
	s.alarms.set(e.notBefore)
	if hostAtFault(o.Failure) {
		e.host.failures++
		if wait := s.limits.Backoff.host(e.host.name, e.host.failures); wait > 0 {
			e.host.notBefore = later(e.host.notBefore, now.Add(wait))
			s.alarms.set(e.host.notBefore)
		}
	}
}

// shut closes a host for its delay from at.
func (s *Scheduler) shut(h *host, at time.Time) {
	h.touched = later(h.touched, at)
	if s.limits.Hosts.Delay > 0 {
		s.alarms.set(h.touched.Add(s.limits.Hosts.Delay))
	}
}
