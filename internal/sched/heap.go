package sched

import (
	"time"

	"freshet/internal/freshet"
)

// A heap gives out the least of what it holds. It is written here, and not
// taken from container/heap, because that one allocates for every element.
type heap[T interface{ before(T) bool }] []T

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *heap[T]) pop() T {
	s := *h
	least, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return least
		}
		if down+1 < last && s[down+1].before(s[down]) {
			down++
		}
		if !s[down].before(s[i]) {
			return least
		}
		s[i], s[down] = s[down], s[i]
		i = down
	}
}

// A deadline is when a source has to be polled. It stands only as long as it
// is what the source's entry says.
type deadline struct {
	at   time.Time
	slot freshet.Slot
}

//lint:ignore U1000 heap calls it
func (d deadline) before(o deadline) bool {
	if !d.at.Equal(o.at) {
		return d.at.Before(o.at)
	}
	return d.slot < o.slot
}

// deadlines give the earliest first.
type deadlines struct{ heap[deadline] }

// due reports whether the first deadline has come at now.
func (d *deadlines) due(now time.Time) bool {
	return len(d.heap) > 0 && !d.heap[0].at.After(now)
}

// first returns the earliest deadline; zero if there is none.
func (d *deadlines) first() time.Time {
	if len(d.heap) == 0 {
		return time.Time{}
	}
	return d.heap[0].at
}

type alarm struct{ at time.Time }

//lint:ignore U1000 heap calls it
func (a alarm) before(o alarm) bool { return a.at.Before(o.at) }

// alarms are moments at which something that is shut opens. They are kept
// until they have passed; one that no longer matters costs a look and no more.
type alarms struct{ heap[alarm] }

// set adds an alarm; the zero time is none.
func (a *alarms) set(at time.Time) {
	if !at.IsZero() {
		a.push(alarm{at})
	}
}

// ring drops the alarms that have passed at now.
func (a *alarms) ring(now time.Time) {
	for len(a.heap) > 0 && !a.heap[0].at.After(now) {
		a.pop()
	}
}

// first returns the next alarm; zero if there is none.
func (a *alarms) first() time.Time {
	if len(a.heap) == 0 {
		return time.Time{}
	}
	return a.heap[0].at
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// sooner returns the earlier of two times that may be unset.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
