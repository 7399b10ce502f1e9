package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"freshet"
	"freshet/sched"
)

// expected are the moments at which next polls are expected, as the loop last said.
// Whoever lists sources asks for all of them, again and again and a page at a time:
// an answer counts for a while, so that the loop is asked once and all pages agree.
type expected struct {
	mu   sync.Mutex
	said map[freshet.SourceID]saying
}

// A saying is what the loop said of a source, and when.
type saying struct{ next, at time.Time }

// expectedFor is how long an answer counts.
const expectedFor = 5 * time.Second

// recall fills in what was said not long before now, and returns the places of
// sources of which nothing was.
func (e *expected) recall(now time.Time, ids []freshet.SourceID, next []time.Time) (unknown []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, id := range ids {
		s, ok := e.said[id]
		if age := now.Sub(s.at); !ok || age < 0 || age > expectedFor {
			unknown = append(unknown, i)
			continue
		}
		next[i] = s.next
	}
	return unknown
}

// note keeps what was said at now of some of the sources.
func (e *expected) note(now time.Time, ids []freshet.SourceID, next []time.Time, of []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.said == nil {
		e.said = map[freshet.SourceID]saying{}
	}
	for _, i := range of {
		e.said[ids[i]] = saying{next[i], now}
	}
}

// forget has the loop asked again after a source that was edited or polled.
func (e *expected) forget(id freshet.SourceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.said, id)
}

// NextPolls returns when the next polls of sources are expected, as Why says it or
// said it a few seconds ago; zero where that cannot be told.
func (d *Daemon) NextPolls(ctx context.Context, ids []freshet.SourceID) ([]time.Time, error) {
	next := make([]time.Time, len(ids))
	if !d.running.Load() {
		return next, notRunning()
	}
	now := d.dates.Now()
	unknown := d.expected.recall(now, ids, next)
	for len(unknown) > 0 {
		part := unknown[:min(lookAtOnce, len(unknown))]
		unknown = unknown[len(part):]
		err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
			for _, i := range part {
				w, _ := d.explain(now, s, ids[i])
				next[i] = w.Next
			}
		})
		if err != nil {
			return nil, fmt.Errorf("look at the sources: %w", err)
		}
		d.expected.note(now, ids, next, part)
	}
	return next, nil
}

// lookAtOnce is after how many sources the loop is asked in one go. It takes a few
// milliseconds, in which nothing else happens.
const lookAtOnce = 250
