package sched

import "freshet"

// ID returns the source that is in a slot.
func (s *Scheduler) ID(slot freshet.Slot) (freshet.SourceID, bool) {
	if slot < 0 || int(slot) >= len(s.entries) {
		return "", false
	}
	e := &s.entries[slot]
	return e.source.ID, e.used && !e.gone
}
