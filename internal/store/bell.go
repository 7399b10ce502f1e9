package store

import (
	"context"
	"math"

	"freshet/internal/freshet"
)

// A bell wakes those who wait for a log to grow. It is rung and heard under the
// store's lock.
type bell struct {
	rung chan struct{} // closed by the next ring; nil while nobody waits
}

// ring wakes whoever waits.
func (b *bell) ring() {
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// hear returns what is closed by the next ring.
func (b *bell) hear() <-chan struct{} {
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

// await returns when a log goes on after a place, or with the cause when ctx is
// done. It hears of what this process writes.
func (s *mirror) await(ctx context.Context, b *bell, after freshet.Cursor, end func() freshet.Cursor) error {
	for {
		s.mu.Lock()
		there, rung := end() > after, b.hear()
		s.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// end returns where a log ends.
func (s *mirror) end(ctx context.Context, of func() freshet.Cursor) (freshet.Cursor, error) {
	if s.cfg.ReadOnly { // somebody else may have written since
		if err := s.Refresh(ctx); err != nil {
			return 0, err
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return of(), nil
}

// applied returns the ends of the logs as this process knows them. A transaction
// can be read a moment before it is applied: what it wrote lies past these ends,
// and is not told yet.
func (s *mirror) applied() counter {
	if s.cfg.ReadOnly { // whose ends are read when they are asked for
		return counter{change: math.MaxInt64, outcome: math.MaxInt64, match: math.MaxInt64, parcel: math.MaxInt64}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.next
}

// Refresh looks where the logs end that another process writes, and wakes those who wait for
// them to grow.
func (s *mirror) Refresh(ctx context.Context) error {
	var outcome, change, match, parcel freshet.Cursor
	err := eachRow(ctx, s.reader, `SELECT (SELECT upto FROM seals WHERE name = 'outcomes'), (SELECT upto FROM seals WHERE name = 'changes'),
		(SELECT coalesce(max(cursor), 0) FROM matches), (SELECT coalesce(max(cursor), 0) FROM parcels)`, nil,
		func(scan func(...any) error) error { return scan(&outcome, &change, &match, &parcel) })
	if err != nil {
		return s.fault("reading the ends of the logs", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring(&counter{outcome: outcome, change: change, match: match, parcel: parcel})
	s.next.outcome, s.next.change = max(outcome, s.next.outcome), max(change, s.next.change)
	s.next.match, s.next.parcel = max(match, s.next.match), max(parcel, s.next.parcel)
	return nil
}

// ring wakes those who wait for logs to grow that end further on than was known.
func (s *mirror) ring(ends *counter) {
	if ends.outcome > s.next.outcome {
		s.tail.bell.ring()
	}
	if ends.change > s.next.change {
		s.changed.ring()
	}
	if ends.match > s.next.match || ends.parcel > s.next.parcel {
		s.matched.ring()
	}
}
