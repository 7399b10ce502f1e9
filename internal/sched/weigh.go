package sched

import (
	"time"

	"freshet/internal/freshet"
)

// A Weight is what the changes of a source matter beside what its own weight says.
type Weight struct {
	Source freshet.SourceID
	Factor float64 // as how many changes one of the source counts, on the mean
}

// setWeight says what the changes of a source matter. It holds for the ID, whether there is
// such a source now or later.
func (s *Scheduler) setWeight(now time.Time, w Weight) {
	was, there := s.weights[w.Source]
	if there && was == w.Factor || !there && w.Factor == 1 {
		return
	}
	if w.Factor == 1 {
		delete(s.weights, w.Source)
	} else {
		s.weights[w.Source] = w.Factor
	}
	if slot, ok := s.Slot(w.Source); ok {
		s.tellSource(now, slot)
	}
}

// weighed returns the weight of a source with what its changes matter.
func (s *Scheduler) weighed(source freshet.Source) float64 {
	if factor, ok := s.weights[source.ID]; ok {
		return source.Importance() * factor
	}
	return source.Weight
}
