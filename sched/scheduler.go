package sched

import (
	"time"

	"freshet"
)

// A Scheduler holds what is known of every source and says which poll to make
// next. Make one with New.
type Scheduler struct {
	policy  freshet.Policy
	limits  Limits
	purse   purse
	ceiling ceiling
	started bool

	entries []entry // by slot
	free    []freshet.Slot
	slots   map[freshet.SourceID]freshet.Slot
	hosts   map[string]*host

	asked   []freshet.Slot // wanted by hand, first come first served
	overdue deadlines      // when each source's MaxGap runs out
	alarms  alarms         // when something that is shut opens
	again   time.Time      // when the policy wants to be asked again

	flying int
	ready  []freshet.Poll // chosen
	given  int            // of those, already handed out
}

// An entry is one source as the scheduler knows it.
type entry struct {
	source    freshet.Source
	host      *host
	seen      time.Time // Began of the last poll that saw it
	begun     time.Time // when it was last chosen
	notBefore time.Time // backing off until then
	failures  int
	requests  int // that its last poll took: what the next one reserves
	busy      bool
	gone      bool // removed while a poll of it was under way
	asked     bool
	used      bool
}

// New returns a Scheduler for a policy within limits.
func New(p freshet.Policy, l Limits) *Scheduler {
	return &Scheduler{
		policy: p,
		limits: l.withDefaults(),
		slots:  map[freshet.SourceID]freshet.Slot{},
		hosts:  map[string]*host{},
	}
}

// Resume tells the scheduler, before its first poll, what was begun shortly
// before now by whoever polled before it: those requests count against the
// budget and the politeness. An attempt without an end is taken to have ended
// just now. Attempts of the last two stretches of the budget are enough.
func (s *Scheduler) Resume(now time.Time, attempts []freshet.Attempt) {
	s.start(now)
	for _, a := range attempts {
		ended := a.Ended
		if ended.IsZero() || ended.After(now) {
			ended = now
		}
		s.ceiling.end(ended, 0, max(1, a.Requests))
		if slot, ok := s.slots[a.Source]; ok {
			e := &s.entries[slot]
			e.begun = later(e.begun, a.Began)
			s.shut(e.host, ended)
		}
	}
	s.ceiling.sort()
}

// Recall tells the policy, before the first poll, of an outcome on record, so
// that it knows again what it had learnt. Outcomes come in their order; a source
// must have been put as it stood before the first of them.
func (s *Scheduler) Recall(o freshet.Outcome) {
	slot, ok := s.slots[o.Source]
	if !ok {
		return
	}
	if e := &s.entries[slot]; o.Result.Seen() {
		e.seen = later(e.seen, o.Began)
	}
	s.policy.Observe(o.Ended, slot, o)
}

// start sets the first instant. Before it no time has passed.
func (s *Scheduler) start(now time.Time) {
	if s.started {
		return
	}
	s.started = true
	s.purse = newPurse(s.limits.Budget, now)
	s.ceiling = newCeiling(s.limits.Budget)
}

// SetLimits changes the limits from now on. What has been spent stays spent.
func (s *Scheduler) SetLimits(now time.Time, l Limits) {
	s.limits = l.withDefaults()
	if !s.started {
		return
	}
	s.purse = newPurse(s.limits.Budget, now)
	fresh := newCeiling(s.limits.Budget)
	s.ceiling.most, s.ceiling.per = fresh.most, fresh.per
	for _, h := range s.hosts {
		if !h.touched.IsZero() {
			s.alarms.set(h.touched.Add(s.limits.Hosts.Delay))
		}
	}
}

// Put adds a source or tells of an edit to one.
func (s *Scheduler) Put(now time.Time, w freshet.Watched) {
	slot, known := s.slots[w.ID]
	if !known {
		slot = s.grow()
		s.slots[w.ID] = slot
		s.entries[slot] = entry{
			used:      true,
			seen:      w.Standing.Seen,
			begun:     w.Standing.Begun,
			failures:  w.Standing.Failures,
			requests:  max(1, w.Standing.Requests),
			notBefore: s.resumeBackoff(now, w),
		}
	}
	e := &s.entries[slot]
	if e.host == nil || e.source.URL != w.URL {
		s.move(e, w.Source.Host())
		e.requests = max(1, w.Standing.Requests)
	}
	if !known {
		if until := earlier(w.Standing.NotBefore, now.Add(s.limits.Backoff.RetryAfter)); until.After(now) {
			e.host.notBefore = later(e.host.notBefore, until)
			s.alarms.set(until)
		}
	}
	if e.source.URL != "" && e.source.URL != w.URL {
		e.failures, e.notBefore = 0, time.Time{}
	}
	e.source, e.gone = w.Source, false
	s.alarms.set(e.notBefore)
	s.policy.Put(now, slot, w.Source, e.seen)
	s.expect(slot)
}

// resumeBackoff returns until when a source that was failing is left alone.
func (s *Scheduler) resumeBackoff(now time.Time, w freshet.Watched) time.Time {
	if w.Standing.Failures == 0 || w.Standing.Begun.After(now) {
		return time.Time{}
	}
	return w.Standing.Begun.Add(s.limits.Backoff.source(w.ID, w.Standing.Failures, w.Standing.Failure))
}

// grow returns a slot for a new source.
func (s *Scheduler) grow() freshet.Slot {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.entries = append(s.entries, entry{})
	return freshet.Slot(len(s.entries) - 1)
}

// move puts an entry under a host. A host is not forgotten when its last source
// goes: the politeness owed to it outlives them.
func (s *Scheduler) move(e *entry, name string) {
	h := s.hosts[name]
	if h == nil {
		h = &host{name: name}
		s.hosts[name] = h
	}
	if e.host != nil && e.busy { // its end will be counted under the new host
		e.host.flying--
		h.flying++
	}
	e.host = h
}

// Remove forgets a source. A poll of it that is under way is still counted.
func (s *Scheduler) Remove(id freshet.SourceID) {
	slot, ok := s.slots[id]
	if !ok || s.entries[slot].gone {
		return
	}
	s.policy.Remove(slot)
	if e := &s.entries[slot]; e.busy {
		e.gone = true
		return
	}
	s.release(slot)
}

// release gives a slot back.
func (s *Scheduler) release(slot freshet.Slot) {
	e := &s.entries[slot]
	delete(s.slots, e.source.ID)
	*e = entry{}
	s.free = append(s.free, slot)
}

// Ask wants a source polled as soon as the budget and its host allow, ahead of
// the policy's choices.
func (s *Scheduler) Ask(id freshet.SourceID) {
	slot, ok := s.slots[id]
	if !ok || s.entries[slot].asked || s.entries[slot].gone {
		return
	}
	s.entries[slot].asked = true
	s.asked = append(s.asked, slot)
}

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
// for, then what its bound makes overdue, then what the policy wants.
func (s *Scheduler) choose(now time.Time) {
	s.purse.fill(now)
	s.ceiling.forget(now)
	s.alarms.ring(now)
	if s.budget() <= 0 {
		return
	}
	s.chooseAsked(now)
	s.chooseOverdue(now)
	s.again = time.Time{}
	if n := s.budget(); n > 0 {
		s.again = s.policy.Choose(now, n, func(slot freshet.Slot, worth float64) bool {
			return s.budget() > 0 && s.take(now, slot, worth, freshet.ByPolicy)
		})
	}
}

// budget returns how many more polls may be begun now.
func (s *Scheduler) budget() int {
	return min(s.purse.whole(), s.limits.Workers-s.flying, s.ceiling.most-s.ceiling.used())
}

func (s *Scheduler) chooseAsked(now time.Time) {
	kept := s.asked[:0]
	for _, slot := range s.asked {
		e := &s.entries[slot]
		switch {
		case !e.used || !e.asked || e.gone:
		case s.budget() > 0 && s.take(now, slot, 0, freshet.ByHand):
			e.asked = false
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
		case !s.take(now, d.slot, 0, freshet.ByBound):
			refused = append(refused, d)
		}
	}
	for _, d := range refused {
		s.overdue.push(d)
	}
}

// stands reports whether a deadline still holds for its slot.
func (s *Scheduler) stands(d deadline) bool {
	e := &s.entries[d.slot]
	return e.used && !e.gone && !e.source.Paused && !e.busy && d.at.Equal(e.due())
}

// take begins a poll of a source if everything that could forbid it is open.
func (s *Scheduler) take(now time.Time, slot freshet.Slot, worth float64, cause freshet.Cause) bool {
	e := &s.entries[slot]
	if !e.open(now, cause) || !e.host.open(now, s.limits.Hosts) || !s.ceiling.room(e.requests) {
		return false
	}
	e.busy, e.begun = true, now
	e.host.flying++
	s.shut(e.host, now)
	s.flying++
	s.purse.left -= float64(e.requests)
	s.ceiling.begin(e.requests)
	s.ready = append(s.ready, freshet.Poll{Source: e.source, At: now, Since: e.seen, Worth: worth, Cause: cause})
	return true
}

// open reports whether the source itself may be polled at now. A poll asked
// for by hand need not wait for a back-off, and may look at a paused source.
func (e *entry) open(now time.Time, cause freshet.Cause) bool {
	if !e.used || e.gone || e.busy {
		return false
	}
	if cause != freshet.ByHand && (e.source.Paused || e.notBefore.After(now)) {
		return false
	}
	return e.source.MinGap == 0 || e.begun.IsZero() || !e.begun.Add(e.source.MinGap).After(now)
}

// due returns when the source's MaxGap runs out.
func (e *entry) due() time.Time {
	if e.source.MaxGap == 0 || e.begun.IsZero() {
		return time.Time{}
	}
	return e.begun.Add(e.source.MaxGap)
}

// expect notes by when the source has to be polled.
func (s *Scheduler) expect(slot freshet.Slot) {
	e := &s.entries[slot]
	if at := e.due(); !at.IsZero() {
		s.overdue.push(deadline{at, slot})
	}
	if e.source.MinGap > 0 && !e.begun.IsZero() {
		s.alarms.set(e.begun.Add(e.source.MinGap))
	}
}

// wake returns when something may become possible by the mere passing of time.
func (s *Scheduler) wake(now time.Time) time.Time {
	if s.flying >= s.limits.Workers {
		return time.Time{}
	}
	if s.purse.whole() <= 0 {
		return s.purse.next()
	}
	if s.budget() <= 0 {
		return s.ceiling.opens()
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
		e.host.notBefore = later(e.host.notBefore, until)
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
