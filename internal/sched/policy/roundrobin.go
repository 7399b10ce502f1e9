package policy

import (
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
)

// RoundRobin polls the source that has waited longest, so that no two waits
// differ by more than a round whatever comes and goes. Sources never polled
// come first, in the order in which they were put.
type RoundRobin struct {
	// A doubly linked ring through the slots, longest waiting first. Element
	// 0 is its head; the source in slot s is element s+1.
	next, prev []freshet.Slot

	// Put since the last choice, and not yet in the ring. Such an element is
	// its own neighbour; one that is not any more has been removed since.
	fresh []newcomer
}

type newcomer struct {
	at    freshet.Slot
	since time.Time
}

// Put implements [freshet.Policy].
func (r *RoundRobin) Put(_ time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	if len(r.next) == 0 {
		r.next, r.prev = []freshet.Slot{0}, []freshet.Slot{0}
	}
	r.next, r.prev = ranking.Grown(r.next, slot+1), ranking.Grown(r.prev, slot+1)
	switch at := slot + 1; {
	case s.Apart():
		r.unlink(at)
	case !r.linked(at):
		r.next[at], r.prev[at] = at, at
		r.fresh = append(r.fresh, newcomer{at, since})
	}
}

// Remove implements [freshet.Policy].
func (r *RoundRobin) Remove(slot freshet.Slot) { r.unlink(slot + 1) }

// admit puts the newcomers ahead of all others, the longest unseen first.
func (r *RoundRobin) admit() {
	slices.SortStableFunc(r.fresh, func(a, b newcomer) int { return a.since.Compare(b.since) })
	before := freshet.Slot(0)
	for _, n := range r.fresh {
		if r.next[n.at] == n.at {
			r.insert(n.at, before)
			before = n.at
		}
	}
	r.fresh = r.fresh[:0]
}

// Choose implements [freshet.Policy].
func (r *RoundRobin) Choose(_ time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	if len(r.next) == 0 {
		return time.Time{}
	}
	r.admit()
	taken, end := 0, r.prev[0]
	for at := r.next[0]; at != 0 && taken < n; {
		after := r.next[at]
		if take(at-1, 1) {
			taken++
			r.unlink(at)
			r.insert(at, r.prev[0])
		}
		if at == end { // what follows was taken in this very pass
			break
		}
		at = after
	}
	return time.Time{}
}

// Observe implements [freshet.Policy]. Whatever caused the poll, the source has
// had its turn.
func (r *RoundRobin) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	if r.linked(slot + 1) {
		r.admit()
		r.unlink(slot + 1)
		r.insert(slot+1, r.prev[0])
	}
}

// linked reports whether an element is in the ring. One that is alone with the
// head has the head on both sides, but then the head knows it.
func (r *RoundRobin) linked(at freshet.Slot) bool {
	return r.next[at] != 0 || r.prev[at] != 0 || r.next[0] == at
}

// insert links an element in behind another.
func (r *RoundRobin) insert(at, behind freshet.Slot) {
	after := r.next[behind]
	r.next[behind], r.prev[at], r.next[at], r.prev[after] = at, behind, after, at
}

func (r *RoundRobin) unlink(at freshet.Slot) {
	if !r.linked(at) {
		return
	}
	r.next[r.prev[at]], r.prev[r.next[at]] = r.next[at], r.prev[at]
	r.next[at], r.prev[at] = 0, 0
}
