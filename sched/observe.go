package sched

import (
	"time"

	"freshet"
)

// Observe learns from the outcome of a poll that Next returned.
func (s *Scheduler) Observe(now time.Time, o freshet.Outcome) {
	slot, ok := s.slots[o.Source]
	if !ok || !s.entries[slot].busy {
		return
	}
	e := &s.entries[slot]
	made := max(o.Requests, 0)
	s.flying--
	s.ceiling.end(now, e.requests, made)
	s.purse.left -= float64(made - e.requests)
	e.busy = false
	e.host.flying--
	s.shut(e.host, now)
	s.learn(now, e, o)
	if e.gone {
		s.release(slot)
		return
	}
	s.expect(slot)
	s.policy.Observe(now, slot, o)
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
