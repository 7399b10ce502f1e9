package node

import (
	"context"
	"iter"
	"time"

	"freshet"
)

// idle is a policy that holds no poll to be worth anything: only those that
// somebody asks for are made.
type idle struct{}

// Put implements [freshet.Policy].
func (idle) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}

// Remove implements [freshet.Policy].
func (idle) Remove(freshet.Slot) {}

// Choose implements [freshet.Policy].
func (idle) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time { return time.Time{} }

// Observe implements [freshet.Policy].
func (idle) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// An unboundStore is a store whose sources need not be polled however long ago
// they were: a daemon over it polls only what it is asked to.
type unboundStore struct{ freshet.Store }

// Source returns one watched source.
func (u unboundStore) Source(ctx context.Context, id freshet.SourceID) (freshet.Watched, error) {
	w, err := u.Store.Source(ctx, id)
	w.MaxGap = 0
	return w, err
}

// Sources yields all watched sources.
func (u unboundStore) Sources(ctx context.Context) iter.Seq2[freshet.Watched, error] {
	return func(yield func(freshet.Watched, error) bool) {
		for w, err := range u.Store.Sources(ctx) {
			w.MaxGap = 0
			if !yield(w, err) {
				return
			}
		}
	}
}

// An unsavedStore keeps nothing of what is learnt. Whoever only looks may have been
// given another budget than the daemon, and learns by other ticks: what the daemon
// has saved stays as it is.
type unsavedStore struct{ freshet.Store }

// SaveBeliefs implements [freshet.BeliefStore].
func (unsavedStore) SaveBeliefs(context.Context, []freshet.Belief) error { return nil }
