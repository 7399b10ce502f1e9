package ranking

import (
	"math"

	"freshet/internal/freshet"
)

// Never is a due time that does not come.
const Never = math.MaxInt64

// A Queue holds sources by when they are due, in nanoseconds since 1970: the
// earliest first, equals by ID. It is a binary heap that knows each slot's
// place, so that a source can be moved or dropped.
type Queue struct {
	ids   []freshet.SourceID // by slot
	due   []int64            // by slot
	place []int32            // by slot: 1 + the place in heap; 0 if not in it
	heap  []freshet.Slot
}

// Name notes whose slot it is.
func (q *Queue) Name(slot freshet.Slot, id freshet.SourceID) {
	q.ids, q.due, q.place = Grown(q.ids, slot), Grown(q.due, slot), Grown(q.place, slot)
	q.ids[slot] = id
}

// Is reports whether a slot is that of a source.
func (q *Queue) Is(slot freshet.Slot, id freshet.SourceID) bool {
	return int(slot) < len(q.ids) && q.ids[slot] == id
}

// Forget drops a slot that nobody has any more.
func (q *Queue) Forget(slot freshet.Slot) {
	q.Drop(slot)
	q.ids[slot] = ""
}

// Due returns when a slot is due, or was when it was last in the queue.
func (q *Queue) Due(slot freshet.Slot) int64 { return q.due[slot] }

// Note says when a slot is due that is not in the queue.
func (q *Queue) Note(slot freshet.Slot, due int64) { q.due[slot] = due }

// Holds reports whether a slot is in the queue.
func (q *Queue) Holds(slot freshet.Slot) bool { return q.place[slot] != 0 }

// Set puts a slot into the queue, or moves it.
func (q *Queue) Set(slot freshet.Slot, due int64) {
	q.due[slot] = due
	if !q.Holds(slot) {
		q.heap = append(q.heap, slot)
		q.place[slot] = int32(len(q.heap))
	}
	q.down(q.up(int(q.place[slot]) - 1))
}

// Drop takes a slot out, if it is in.
func (q *Queue) Drop(slot freshet.Slot) {
	if !q.Holds(slot) {
		return
	}
	at, last := int(q.place[slot])-1, len(q.heap)-1
	q.swap(at, last)
	q.heap = q.heap[:last]
	q.place[slot] = 0
	if at < last {
		q.down(q.up(at))
	}
}

// First returns the earliest; ok is false if there is none.
func (q *Queue) First() (slot freshet.Slot, due int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, Never, false
	}
	return q.heap[0], q.due[q.heap[0]], true
}

// Reset gives every slot in the queue the due time that f returns for it and for
// its old one.
func (q *Queue) Reset(f func(slot freshet.Slot, due int64) int64) {
	for _, slot := range q.heap {
		q.due[slot] = f(slot, q.due[slot])
	}
	for at := len(q.heap)/2 - 1; at >= 0; at-- {
		q.down(at)
	}
}

func (q *Queue) less(a, b int) bool {
	x, y := q.heap[a], q.heap[b]
	if q.due[x] != q.due[y] {
		return q.due[x] < q.due[y]
	}
	return q.ids[x] < q.ids[y]
}

func (q *Queue) swap(a, b int) {
	q.heap[a], q.heap[b] = q.heap[b], q.heap[a]
	q.place[q.heap[a]], q.place[q.heap[b]] = int32(a+1), int32(b+1)
}

// up moves an element to its place among those above, and returns that place.
func (q *Queue) up(at int) int {
	for at > 0 && q.less(at, (at-1)/2) {
		q.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
	return at
}

func (q *Queue) down(at int) {
	for {
		child := 2*at + 1
		if child >= len(q.heap) {
			return
		}
		if child+1 < len(q.heap) && q.less(child+1, child) {
			child++
		}
		if !q.less(child, at) {
			return
		}
		q.swap(at, child)
		at = child
	}
}
