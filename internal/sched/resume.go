package sched

import (
	"time"

	"freshet/internal/freshet"
)

// Resume tells the scheduler, before its first poll, what was begun shortly
// before now by whoever polled before it: those requests count against the
// budget and the politeness. An attempt without an end is taken to have ended
// just now. Attempts of the last two stretches of the budget are enough.
func (s *Scheduler) Resume(now time.Time, attempts []freshet.Attempt) {
	s.start(now)
	for _, a := range attempts {
		s.wasSent(now, a)
	}
	s.ceiling.sort()
}

// Follow observes an outcome of a poll that somebody else made, after Resume: what that sent
// counts as what is told to Resume does. Who follows for long keeps no more than is needed to
// go on.
func (s *Scheduler) Follow(now time.Time, o freshet.Outcome) {
	s.Observe(now, o)
	if o.Cause != freshet.BySharing {
		s.wasSent(now, freshet.Attempt{Source: o.Source, Began: o.Began, Ended: o.Ended, Requests: o.Requests, Route: o.Route})
	}
	s.alarms.ring(now)
	s.ceiling.forget(now)
}

// wasSent counts what somebody else sent against the budget and the politeness.
func (s *Scheduler) wasSent(now time.Time, a freshet.Attempt) {
	ended := a.Ended
	if ended.IsZero() || ended.After(now) {
		ended = now
	}
	s.ceiling.end(ended, 0, max(1, a.Requests))
	s.recount(a)
	for _, name := range a.Route.Hosts() {
		s.shut(s.hostNamed(name), ended)
	}
	slot, ok := s.slots.get(string(a.Source))
	if !ok {
		return
	}
	e := s.entries.At(slot)
	e.polledAt(a.Began)
	if a.Ended.IsZero() { // its request left some time after that
		e.polledAt(earlier(now, a.Began.Add(slowWrite)))
	}
	if a.Route == "" {
		s.shut(e.host, ended)
	}
	s.expect(now, slot)
}

// slowWrite is how long it is taken to need at most to put a poll on record.
const slowWrite = 10 * time.Second
