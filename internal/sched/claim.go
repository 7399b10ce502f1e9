package sched

import (
	"slices"
	"time"

	"freshet/internal/freshet"
)

// A claim belongs to the first poll, in the order of choice, that cannot begin
// because it needs several requests or several hosts at once. Until it can, no
// other poll takes the room or the hosts that it waits for: polls of one request
// would fill every gap, and a source behind redirects would never be polled.
type claim struct {
	held bool
	slot freshet.Slot
}

// stake claims what a poll of a source lacks, unless another has a claim or it
// lacks what only time brings.
func (s *Scheduler) stake(now time.Time, slot freshet.Slot) {
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
	if !s.ceiling.room(requests + s.ceiling.atMost(int(first.requests))) {
		return true
	}
	way := first.way()
	return slices.ContainsFunc(s.entries.At(slot).way(), func(h *host) bool { return slices.Contains(way, h) })
}

// way returns the hosts that a poll of a source is expected to reach, each once.
func (e *entry) way() []*host { return append([]*host{e.first()}, e.beyond()...) }
