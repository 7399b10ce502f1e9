package live

import (
	"sync"
	"time"

	"freshet"
	"freshet/clock"
)

// dates stands between the loop, which goes by steady time, and the store, which
// keeps dates of the wall clock. A poll has its dates from one reading of how far
// the two are apart, however the wall clock is set while the poll is under way.
type dates struct {
	*clock.Clock

	mu    sync.Mutex
	ahead map[freshet.SourceID]time.Duration // of a poll that is not yet told to the loop; none if not at all
}

func newDates(wall func() time.Time) *dates {
	return &dates{Clock: clock.New(wall), ahead: map[freshet.SourceID]time.Duration{}}
}

// begin returns a poll with dates, and now as a date.
func (d *dates) begin(p freshet.Poll) (dated freshet.Poll, now func() time.Time) {
	ahead := d.Ahead()
	d.mu.Lock()
	defer d.mu.Unlock()
	if ahead == 0 {
		delete(d.ahead, p.Source.ID)
	} else {
		d.ahead[p.Source.ID] = ahead
	}
	return p.Shifted(ahead), func() time.Time { return d.Now().Add(ahead) }
}

// tell returns an outcome from the log as the loop is to be told of it.
func (d *dates) tell(o freshet.Outcome) freshet.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	ahead := d.ahead[o.Source]
	delete(d.ahead, o.Source)
	return o.Shifted(-ahead)
}

// forget ends a poll that leaves no outcome.
func (d *dates) forget(id freshet.SourceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ahead, id)
}
