package sched

import (
	"time"

	"freshet/internal/freshet"
)

// A Push is somebody's word that a source has changed: a hook was called, or a hub has
// told of it.
type Push struct {
	Source freshet.SourceID
	Urgent bool // it is worth a poll of its own; otherwise it waits for the next

	Right, Times float64 // so many of so many pushes before it came with a change, of late
}

// A pendingPush is a push of which no poll has shown yet whether it is true.
type pendingPush struct {
	Push
	at   time.Time
	asks bool // it is why a poll is wanted
}

// pushed notes that somebody says that a source has changed. If that is urgent the source
// is polled as if somebody had asked for it.
func (s *Scheduler) pushed(now time.Time, p Push) {
	slot, ok := s.Slot(p.Source)
	if !ok {
		return
	}
	if s.pushes == nil {
		s.pushes = map[freshet.Slot]*pendingPush{}
	}
	at := s.pushes[slot]
	if at == nil {
		at = &pendingPush{at: now}
		s.pushes[slot] = at
	}
	at.Push = p
	if p.Urgent && !s.entries.At(slot).asked {
		at.asks = true
		s.Ask(p.Source)
	}
}

// askedBy returns why a poll of a source is made that somebody wants.
func (s *Scheduler) askedBy(slot freshet.Slot) freshet.Cause {
	if p := s.pushes[slot]; p != nil && p.asks {
		return freshet.ByPush
	}
	return freshet.ByHand
}

// pushedAt returns since when a push waits for a poll of a source; zero if none does.
func (s *Scheduler) pushedAt(slot freshet.Slot) time.Time {
	if p := s.pushes[slot]; p != nil {
		return p.at
	}
	return time.Time{}
}

// answerPush forgets a push when the source was seen after it.
func (s *Scheduler) answerPush(slot freshet.Slot, o freshet.Outcome) {
	if p := s.pushes[slot]; p != nil && o.Result.Seen() && !p.at.After(o.Began) {
		delete(s.pushes, slot)
	}
}
