package app

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// idle is a policy that holds no poll to be worth anything: only requested polls are made.
type idle struct{}

// Put implements [freshet.Policy].
func (idle) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}

// Remove implements [freshet.Policy].
func (idle) Remove(freshet.Slot) {}

// Choose implements [freshet.Policy].
func (idle) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time { return time.Time{} }

// Observe implements [freshet.Policy].
func (idle) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// An unsavedStore saves nothing that is learnt. A command that only reads may have another budget
// than the daemon, and learns by other ticks: what the daemon has saved stays as it is.
type unsavedStore struct{ freshet.Store }

// SaveState implements [freshet.StateStore].
func (unsavedStore) SaveState(context.Context, []freshet.State) error { return nil }
