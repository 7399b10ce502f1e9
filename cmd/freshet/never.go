package main

import (
	"time"

	"freshet"
)

// never is a policy that holds no poll to be worth anything: only those that
// somebody asks for are made.
type never struct{}

// Put implements [freshet.Policy].
func (never) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}

// Remove implements [freshet.Policy].
func (never) Remove(freshet.Slot) {}

// Choose implements [freshet.Policy].
func (never) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time { return time.Time{} }

// Observe implements [freshet.Policy].
func (never) Observe(time.Time, freshet.Slot, freshet.Outcome) {}
