package daemon

import (
	"context"
	"sync"

	"freshet/internal/freshet"
)

// followAtOnce is how many outcomes are read from the log at once.
const followAtOnce = 1000

// A follower reads the log of outcomes from a place on, in the order of the
// record: first what is there, then what comes.
type follower struct {
	log   freshet.OutcomeLog
	place freshet.Cursor // of the last outcome that was read
}

// next returns the outcomes that follow the place, and moves the place behind
// them. At the end of the log there are none.
func (f *follower) next(ctx context.Context) ([]freshet.Outcome, error) {
	end, err := f.log.LastOutcome(ctx)
	if err != nil {
		return nil, err
	}
	found, err := f.log.Outcomes(ctx, freshet.OutcomeQuery{After: f.place, Limit: followAtOnce})
	if err != nil {
		return nil, err
	}
	if n := len(found); n > 0 {
		f.place = found[n-1].Cursor
	} else {
		f.place = max(f.place, end) // the last ones may have been purged
	}
	return found, nil
}

// run delivers all outcomes as they come, with the place in the log that they reach, until ctx is
// done.
func (f *follower) run(ctx context.Context, tell func([]freshet.Outcome), reached func(freshet.Cursor)) error {
	for {
		found, err := f.next(ctx)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			tell(found)
		}
		reached(f.place)
		if len(found) > 0 {
			continue
		}
		if err := f.log.WaitOutcome(ctx, f.place); err != nil {
			return err
		}
	}
}

// A milestone is how far something has come in a log. Others can wait for it.
type milestone struct {
	mu    sync.Mutex
	place freshet.Cursor
	moved chan struct{} // closed when it has; nil if nobody waits
}

// reach notes that all up to a place is done.
func (m *milestone) reach(place freshet.Cursor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.place = max(m.place, place); m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

// wait returns when all up to a place is done, or ctx is.
func (m *milestone) wait(ctx context.Context, place freshet.Cursor) error {
	for {
		m.mu.Lock()
		if m.place >= place {
			m.mu.Unlock()
			return nil
		}
		if m.moved == nil {
			m.moved = make(chan struct{})
		}
		moved := m.moved
		m.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
