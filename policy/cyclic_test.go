package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet"
	"freshet/policy"
)

// A cyclicWorld is sources with known changes, polled once an instant.
type cyclicWorld struct {
	changes [][]int // by slot, in order
	polled  []int   // by slot: the last poll
	log     map[int][]int
}

func newCyclicWorld(changes [][]int) *cyclicWorld {
	return &cyclicWorld{changes: changes, polled: make([]int, len(changes)), log: map[int][]int{}}
}

func (w *cyclicWorld) time(instant int) time.Time {
	return noon.Add(time.Duration(instant) * time.Minute)
}

// poll looks at a source at the end of an instant and returns what it found.
func (w *cyclicWorld) poll(slot freshet.Slot, at int) freshet.Outcome {
	o := freshet.Outcome{Since: w.time(w.polled[slot]), Began: w.time(at), Ended: w.time(at)}
	if w.captured(int(slot), at) {
		o.Result = freshet.Changed
	}
	w.polled[slot] = at
	w.log[int(slot)] = append(w.log[int(slot)], at)
	return o
}

// captured reports whether something changed since the last poll.
func (w *cyclicWorld) captured(slot, at int) bool {
	i, _ := slices.BinarySearch(w.changes[slot], w.polled[slot]+1)
	return i < len(w.changes[slot]) && w.changes[slot][i] <= at
}

// run polls through the instants, perInstant at each, and returns the recall of
// the changes after an instant.
func (w *cyclicWorld) run(p freshet.Policy, instants, perInstant, after int) float64 {
	for slot := range w.changes {
		p.Put(w.time(0), freshet.Slot(slot), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%04d", slot))}, w.time(0))
	}
	seen, all := 0, 0
	for _, page := range w.changes {
		for _, at := range page {
			if at > after {
				all++
			}
		}
	}
	for at := 1; at <= instants; at++ {
		var taken []freshet.Slot
		p.Choose(w.time(at), perInstant, func(s freshet.Slot, _ float64) bool {
			taken = append(taken, s)
			return true
		})
		for _, slot := range taken {
			o := w.poll(slot, at)
			if o.Result == freshet.Changed && at > after {
				seen++
			}
			p.Observe(w.time(at), slot, o)
		}
	}
	return float64(seen) / float64(all)
}

// hourly is pages that each change twice close together at minutes of their
// own in every hour.
func hourly(pages, instants int) [][]int {
	r := rand.New(rand.NewPCG(5, 6))
	changes := make([][]int, pages)
	for i := range changes {
		first := r.IntN(60)
		for d := 0; d < instants; d += 60 {
			changes[i] = append(changes[i], d+1+first, d+1+first+8+r.IntN(3))
		}
	}
	return changes
}

// random is pages that change by chance, some far more often than others.
func random(pages, instants int) [][]int {
	r := rand.New(rand.NewPCG(8, 9))
	changes := make([][]int, pages)
	for i := range changes {
		mean := float64(uint(20) << (i % 6))
		for at := r.ExpFloat64() * mean; int(at) < instants; at += r.ExpFloat64() * mean {
			changes[i] = append(changes[i], int(at)+1)
		}
	}
	return changes
}

func TestCyclicFindsTheRhythm(t *testing.T) {
	const instants = 48 * 60
	changes := hourly(60, instants)
	cyclic := newCyclicWorld(changes).run(policy.NewCyclic(policy.CyclicConfig{Start: noon}), instants, 4, instants/2)
	uniform := newCyclicWorld(changes).run(&policy.Uniform{}, instants, 4, instants/2)
	t.Logf("recall %.3f, uniform %.3f", cyclic, uniform)
	if cyclic < uniform+0.1 {
		t.Errorf("recall %.3f of pages that keep to the hour, and uniform has %.3f", cyclic, uniform)
	}
}

func TestCyclicOnPagesWithoutRhythm(t *testing.T) {
	const instants = 48 * 60
	changes := random(60, instants)
	cyclic := newCyclicWorld(changes).run(policy.NewCyclic(policy.CyclicConfig{Start: noon}), instants, 2, instants/2)
	uniform := newCyclicWorld(changes).run(&policy.Uniform{}, instants, 2, instants/2)
	t.Logf("recall %.3f, uniform %.3f", cyclic, uniform)
	if cyclic < uniform {
		t.Errorf("recall %.3f of pages that change by chance, and uniform has %.3f", cyclic, uniform)
	}
}
