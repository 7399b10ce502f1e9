package estimate

import (
	"cmp"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// Exact knows when every source will change: chances are 0 or 1. Make one with
// NewExact.
type Exact struct {
	truth  Truth
	events calendar
}

// NewExact returns an estimator that reads the truth.
func NewExact(t Truth) *Exact {
	t.Instant = cmp.Or(t.Instant, time.Minute)
	return &Exact{truth: t, events: calendar{first: 1, last: t.Instants}}
}

// Put implements [freshet.Estimator].
func (e *Exact) Put(_ time.Time, slot freshet.Slot, s freshet.Source, _ time.Time) {
	e.events.put(slot, e.truth.Changes(s.ID))
}

// Remove implements [freshet.Estimator].
func (e *Exact) Remove(slot freshet.Slot) { e.events.put(slot, nil) }

// Observe implements [freshet.Estimator]. There is nothing left to learn.
func (e *Exact) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// Expect implements [freshet.Estimator].
func (e *Exact) Expect(slot freshet.Slot, from, to time.Time) float64 {
	return float64(len(e.events.of(slot, e.truth.at(from)+1, e.truth.at(to))))
}

// Chances implements [freshet.Estimator].
func (e *Exact) Chances(dst []float64, from, to time.Time) {
	clear(dst)
	for at := e.truth.at(from) + 1; at <= e.truth.at(to); at++ {
		for _, slot := range e.events.on(at) {
			if int(slot) < len(dst) {
				dst[slot] = 1
			}
		}
	}
}

// A calendar holds events of slots at instants from first to last, to be read
// by slot and by instant. It takes a few bytes an event, however many slots and
// instants there are.
type calendar struct {
	first, last int
	bySlot      [][]int32
	starts      []int          // where each instant begins in slots
	slots       []freshet.Slot // by instant, in order
	stale       bool           // the view by instant is out of date
}

// put sets the events of a slot, which are in order.
func (c *calendar) put(slot freshet.Slot, at []int32) {
	for int(slot) >= len(c.bySlot) {
		c.bySlot = append(c.bySlot, nil)
	}
	if len(at) > 0 || len(c.bySlot[slot]) > 0 {
		c.bySlot[slot], c.stale = at, true
	}
}

// of returns the events of a slot at instants from first to last.
func (c *calendar) of(slot freshet.Slot, first, last int) []int32 {
	at := c.bySlot[slot]
	from, _ := slices.BinarySearch(at, int32(first))
	to, _ := slices.BinarySearch(at, int32(last+1))
	return at[from:max(from, to)]
}

// on returns the slots with events at an instant; one with several comes
// several times.
func (c *calendar) on(at int) []freshet.Slot {
	if c.stale || c.starts == nil {
		c.gather()
	}
	if at < c.first || at > c.last {
		return nil
	}
	return c.slots[c.starts[at-c.first]:c.starts[at-c.first+1]]
}

// gather makes the view by instant. Events outside the calendar are left out.
func (c *calendar) gather() {
	c.stale = false
	c.starts = make([]int, max(0, c.last-c.first+1)+2)
	for slot := range c.bySlot {
		for _, at := range c.of(freshet.Slot(slot), c.first, c.last) {
			c.starts[int(at)-c.first+2]++
		}
	}
	for i := 1; i < len(c.starts); i++ {
		c.starts[i] += c.starts[i-1]
	}
	c.slots = make([]freshet.Slot, c.starts[len(c.starts)-1])
	// starts[i+1] is where instant i is being filled; in the end it is where
	// the next one begins.
	for slot := range c.bySlot {
		for _, at := range c.of(freshet.Slot(slot), c.first, c.last) {
			next := &c.starts[int(at)-c.first+1]
			c.slots[*next] = freshet.Slot(slot)
			*next++
		}
	}
}
