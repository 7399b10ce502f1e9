package sched

import "freshet/internal/freshet"

// Reserve makes so many slots, and keeps one for each of some sources that are about to be put, where it lay
// when somebody else, or a run before, was told of it. Other sources get the slots that are left. It is for a
// Scheduler that has no sources yet, and ends with Settle. A seat that is not below slots is an error in
// the program; of two sources with the same one, that which is put first gets it.
func (s *Scheduler) Reserve(slots int, seats map[freshet.SourceID]freshet.Slot) {
	kept := make([]bool, slots)
	for _, slot := range seats {
		kept[slot] = true
	}
	for range slots {
		s.bars = append(s.bars, 0)
		s.entries.Add(entry{})
	}
	for slot := slots - 1; slot >= 0; slot-- { // the lowest is given out first
		if !kept[slot] {
			s.free = append(s.free, freshet.Slot(slot))
		}
	}
	s.seats = seats
}

// Settle gives back the slots that were kept for sources which were not put.
func (s *Scheduler) Settle() {
	if s.seats == nil {
		return
	}
	s.seats, s.free = nil, s.free[:0]
	for slot := s.entries.Len() - 1; slot >= 0; slot-- {
		if !s.entries.At(freshet.Slot(slot)).used {
			s.free = append(s.free, freshet.Slot(slot))
		}
	}
}
