package store

import (
	"context"
	"slices"

	"freshet/internal/freshet"
)

// tailLength is how many outcomes the tail holds at least: more than are logged
// while a reader that follows the log takes in those before.
const tailLength = 4096

// mostTold is how many pages the outcomes of the tail may tell of: each takes 40 bytes.
const mostTold = 500_000

// A tail is the end of the log of outcomes in memory. Whoever follows the log
// reads from it what was committed a moment ago, without a query.
type tail struct {
	outcomes []freshet.Outcome // in the order of the log
	told     int               // pages that they tell of
	bell     bell              // rung when there is a new one
}

// add appends outcomes that have been committed.
func (t *tail) add(logged []freshet.Outcome) {
	if len(logged) == 0 {
		return
	}
	for _, o := range logged {
		t.told += told(o)
	}
	drop := 0
	if len(t.outcomes)+len(logged) > 2*tailLength {
		drop = max(0, len(t.outcomes)-tailLength)
	}
	for at := 0; at < len(t.outcomes) && (at < drop || t.told > mostTold); at++ {
		t.told -= told(t.outcomes[at])
		drop = max(drop, at+1)
	}
	t.outcomes = slices.Delete(t.outcomes, 0, drop)
	t.outcomes = append(t.outcomes, logged...)
	t.bell.ring()
}

// told returns how many pages an outcome tells of.
func told(o freshet.Outcome) int {
	if o.Word == nil {
		return 0
	}
	return len(o.Word.Pages)
}

// clear forgets all outcomes: some of them are no longer in the log.
func (t *tail) clear() { t.outcomes, t.told = nil, 0 }

// after returns up to limit outcomes after a place, and whether the tail reaches
// back that far.
func (t *tail) after(place freshet.Cursor, limit int) ([]freshet.Outcome, bool) {
	if len(t.outcomes) == 0 || place+1 < t.outcomes[0].Cursor {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(t.outcomes, place+1, func(o freshet.Outcome, c freshet.Cursor) int { return int(o.Cursor - c) })
	found := t.outcomes[at:]
	if limit > 0 && limit < len(found) {
		found = found[:limit]
	}
	return slices.Clone(found), true
}

// latest returns outcomes after a place from the tail, and whether they are
// there.
func (s *mirror) latest(after freshet.Cursor, limit int) ([]freshet.Outcome, bool) {
	if s.cfg.ReadOnly { // somebody else writes
		return nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if after >= s.next.outcome {
		return nil, true
	}
	return s.tail.after(after, limit)
}

// WaitOutcome implements [freshet.OutcomeLog]. On a store opened for reading only
// it hears of nothing.
func (s *mirror) WaitOutcome(ctx context.Context, after freshet.Cursor) error {
	return s.await(ctx, &s.tail.bell, after, func() freshet.Cursor { return s.next.outcome })
}

// LastOutcome implements [freshet.OutcomeLog].
func (s *mirror) LastOutcome(ctx context.Context) (freshet.Cursor, error) {
	return s.end(ctx, func() freshet.Cursor { return s.next.outcome })
}
