package sched

import (
	"time"

	"freshet/internal/freshet"
)

// slowTimes is how many times as many polls as there are workers may be slow, if the
// limits do not say.
const slowTimes = 8

// SlowPoll says that a poll under way waits for its server for longer than most do.
type SlowPoll struct {
	Source freshet.SourceID
	Begun  time.Time // the At of the poll: it may have ended, and another begun
	Seen   bool      // the server has begun to answer the request that is under way
}

// slowPoll lets another poll have the place of a slow one: it takes next to nothing of this
// machine, and a few servers that never answer would hold up all other sources.
//
// Once the server has begun to answer, the request has been seen, and counts against
// the budget from now on like one whose answer is in. Before that nobody knows when it
// will be.
func (s *Scheduler) slowPoll(now time.Time, w SlowPoll) {
	slot, ok := s.slots.get(string(w.Source))
	if !ok {
		return
	}
	e := s.entries.At(slot)
	if !e.busy || e.aboard || e.begun != stampOf(w.Begun) {
		return
	}
	if !e.slow && s.slow < s.limits.Slow {
		e.slow = true
		s.slow++
	}
	if f := e.flight; w.Seen && !f.seen && f.at != nil && f.reserved > 0 {
		s.ceiling.forget(now)
		s.ceiling.end(now, 1, 1)
		f.reserved--
		f.answered++
		f.seen = true
	}
}

// working returns how many polls take the place of a worker.
func (s *Scheduler) working() int { return s.flying - s.slow }
