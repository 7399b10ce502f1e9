package sched

import "freshet/internal/freshet"

// Chances are what somebody gives of when a source is likely to change.
type Chances struct {
	Source freshet.SourceID
	Given  *freshet.Chances // nil takes back what was given before
}

// Give tells those who decide and learn when a source is likely to change, by what
// somebody gave. Those who have no use for it are not told.
func (s *Scheduler) Give(c Chances) {
	slot, ok := s.Slot(c.Source)
	if !ok {
		return
	}
	for _, l := range s.learners {
		if takes, ok := l.(interface {
			Give(freshet.Slot, *freshet.Chances)
		}); ok {
			takes.Give(slot, c.Given)
		}
	}
}
