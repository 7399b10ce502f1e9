package sched

import (
	"time"

	"freshet"
)

// InOrder returns times in the order in which deadlines for them come up, some
// of which are taken out between others that are put in.
func InOrder(times []time.Time, between int) (sorted []time.Time) {
	var d deadlines
	for i, at := range times {
		d.push(deadline{at, freshet.Slot(i)})
		if i%2 == 1 && i/2 < between {
			d.push(d.pop())
		}
	}
	for !d.first().IsZero() {
		sorted = append(sorted, d.pop().at)
	}
	return sorted
}
