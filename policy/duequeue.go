package policy

import (
	"math"

	"freshet"
)

// never is a due time that does not come.
const never = math.MaxInt64

// A dueQueue holds sources by when they are due, in nanoseconds since 1970: the
// earliest first, equals by ID. It is a binary heap that knows each slot's
// place, so that a source can be moved or dropped.
type dueQueue struct {
	ids   []freshet.SourceID // by slot
	due   []int64            // by slot
	place []int32            // by slot: 1 + the place in heap; 0 if not in it
	heap  []freshet.Slot
}

// name notes whose slot it is.
func (q *dueQueue) name(slot freshet.Slot, id freshet.SourceID) {
	q.ids, q.due, q.place = grown(q.ids, slot), grown(q.due, slot), grown(q.place, slot)
	q.ids[slot] = id
}

// holds reports whether a slot is in the queue.
func (q *dueQueue) holds(slot freshet.Slot) bool { return q.place[slot] != 0 }

// set puts a slot into the queue, or moves it.
func (q *dueQueue) set(slot freshet.Slot, due int64) {
	q.due[slot] = due
	if !q.holds(slot) {
		q.heap = append(q.heap, slot)
		q.place[slot] = int32(len(q.heap))
	}
	q.down(q.up(int(q.place[slot]) - 1))
}

// drop takes a slot out, if it is in.
func (q *dueQueue) drop(slot freshet.Slot) {
	if !q.holds(slot) {
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

// first returns the earliest; ok is false if there is none.
func (q *dueQueue) first() (slot freshet.Slot, due int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, never, false
	}
	return q.heap[0], q.due[q.heap[0]], true
}

// restore makes a heap again of slots whose due times were changed in place.
func (q *dueQueue) restore() {
	for at := len(q.heap)/2 - 1; at >= 0; at-- {
		q.down(at)
	}
}

func (q *dueQueue) less(a, b int) bool {
	x, y := q.heap[a], q.heap[b]
	if q.due[x] != q.due[y] {
		return q.due[x] < q.due[y]
	}
	return q.ids[x] < q.ids[y]
}

func (q *dueQueue) swap(a, b int) {
	q.heap[a], q.heap[b] = q.heap[b], q.heap[a]
	q.place[q.heap[a]], q.place[q.heap[b]] = int32(a+1), int32(b+1)
}

// up moves an element to its place among those above, and returns that place.
func (q *dueQueue) up(at int) int {
	for at > 0 && q.less(at, (at-1)/2) {
		q.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
	return at
}

func (q *dueQueue) down(at int) {
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
