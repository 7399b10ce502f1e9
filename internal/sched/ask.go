package sched

import "freshet/internal/freshet"

// Hurry has the next poll of a source that somebody asks for not wait for the
// source's MinGap. Budget, hosts and what they asked for are kept.
func (s *Scheduler) Hurry(id freshet.SourceID) {
	if slot, ok := s.Slot(id); ok {
		s.entries.At(slot).hurry = true
	}
}

// Ask wants a source polled as soon as the budget and its host allow, ahead of
// the policy's choices.
func (s *Scheduler) Ask(id freshet.SourceID) {
	slot, ok := s.slots.get(string(id))
	if !ok || s.entries.At(slot).asked || s.entries.At(slot).gone {
		return
	}
	s.entries.At(slot).asked = true
	s.asked = append(s.asked, slot)
}

// Requested returns the sources whose requested polls have not been made yet, first come
// first served, and then all that are being polled.
func (s *Scheduler) Requested() (ids []freshet.SourceID) {
	for _, slot := range s.asked {
		if e := s.entries.At(slot); e.used && e.asked && !e.gone {
			ids = append(ids, e.source.ID)
		}
	}
	for _, e := range s.entries.All {
		if e.used && e.busy && !e.gone {
			ids = append(ids, e.source.ID)
		}
	}
	return ids
}
