package sched_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A scale notes which weight the policy was last told of each source.
type scale struct {
	policy.Uniform
	weights map[freshet.SourceID]float64
}

func (s *scale) Put(now time.Time, slot freshet.Slot, source freshet.Source, since time.Time) {
	s.weights[source.ID] = source.Weight
	s.Uniform.Put(now, slot, source, since)
}

// What the changes of a source matter is a factor of its weight, for whoever has its ID,
// through edits and while it is gone, until it is taken back.
func TestWeigh(t *testing.T) {
	told := &scale{weights: map[freshet.SourceID]float64{}}
	s := sched.New(told, generous())
	put := func(id freshet.SourceID, weight float64) {
		s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Weight: weight}})
	}
	expect := func(when string, id freshet.SourceID, want float64) {
		t.Helper()
		if got := told.weights[id]; got != want {
			t.Errorf("%s %s weighs %v, want %v", when, id, got, want)
		}
	}
	put("a", 0)
	put("b", 2)
	s.Apply(start, sched.Weight{Source: "a", Factor: 3})
	s.Apply(start, sched.Weight{Source: "b", Factor: 3})
	s.Apply(start, sched.Weight{Source: "c", Factor: 5})
	expect("weighed,", "a", 3)
	expect("weighed,", "b", 6)
	put("b", 4)
	put("c", 1)
	expect("edited,", "b", 12)
	expect("added later,", "c", 5)
	s.Remove("c")
	put("c", 1)
	expect("back again,", "c", 5)
	if source, ok := s.Source(1); !ok || source.Weight != 4 {
		t.Errorf("the scheduler shows the weight %v, want that of the source", source.Weight)
	}
	s.Apply(start, sched.Weight{Source: "b", Factor: 1})
	expect("taken back,", "b", 4)
}
