package daemon

import (
	"sync"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
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

// begin returns a poll with dates, and now as a date. They are the dates of the sources
// that are read along, too.
func (d *dates) begin(p freshet.Poll) (dated freshet.Poll, now func() time.Time) {
	ahead := d.Ahead()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(p.Source.ID, ahead)
	for _, c := range p.Along {
		d.keep(c.Source.ID, ahead)
	}
	return p.Shifted(ahead), func() time.Time { return d.Now().Add(ahead) }
}

// keep notes how far ahead the wall clock was when a poll of a source began.
func (d *dates) keep(id freshet.SourceID, ahead time.Duration) {
	if ahead == 0 {
		delete(d.ahead, id)
	} else {
		d.ahead[id] = ahead
	}
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
