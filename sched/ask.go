package sched

import "freshet"

// Hurry has the next poll of a source that somebody asks for not wait for the
// source's MinGap. Budget, hosts and what they asked for are kept.
func (s *Scheduler) Hurry(id freshet.SourceID) {
	if slot, ok := s.Slot(id); ok {
		s.entries[slot].hurry = true
	}
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

// Wanted returns the sources that somebody asked for and that have not been polled
// yet, first come first served, and then all that are being polled.
func (s *Scheduler) Wanted() (ids []freshet.SourceID) {
	for _, slot := range s.asked {
		if e := &s.entries[slot]; e.used && e.asked && !e.gone {
			ids = append(ids, e.source.ID)
		}
	}
	for slot := range s.entries {
		if e := &s.entries[slot]; e.used && e.busy && !e.gone {
			ids = append(ids, e.source.ID)
		}
	}
	return ids
}
