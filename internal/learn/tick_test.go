package learn_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/learn"
)

func TestTickFollowsTheTurnOfTheSources(t *testing.T) {
	for _, c := range []struct {
		what    string
		sources int
		polls   float64
		instant time.Duration
		want    time.Duration
	}{
		{"no source", 0, 1, time.Second, time.Second},
		{"no budget", 100, 0, time.Second, time.Second},
		{"a budget below nothing", 100, -1, time.Second, time.Second},
		{"a budget that is not a number", 100, math.NaN(), time.Second, time.Second},
		{"a sixteenth of a turn is less than two instants", 31, 1, time.Second, time.Second},
		{"it is two", 32, 1, time.Second, 2 * time.Second},
		{"it is 6.25", 100, 1, time.Second, 5 * time.Second},
		{"1,000 sources at a poll a second", 1000, 1, time.Second, time.Minute},
		{"10,000 sources at 500 polls a second", 10_000, 500, time.Second, time.Second},
		{"a turn of 384 hours", 384 * 60 * 60, 1, time.Second, time.Hour},
		{"one of 385", 385 * 60 * 60, 1, time.Second, 2 * time.Hour},
		{"10,000 sources at 5 polls an hour", 10_000, 5.0 / 3600, time.Second, 8 * time.Hour},
		{"instants of an hour", 300, 1, time.Hour, time.Hour},
		{"instants of 10 minutes", 300, 1, 10 * time.Minute, 50 * time.Minute},
		{"a fraction of a poll in every 12 hours", 500, 0.5, 12 * time.Hour, 48 * time.Hour},
	} {
		if got := learn.TickFor(c.sources, c.polls, c.instant); got != c.want {
			t.Errorf("%s: the tick is %v, want %v", c.what, got, c.want)
		}
	}
}

// A turn has from 16 to 384 ticks: fewer only where a tick is an instant. A tick is
// at most an hour, unless a turn would then have too many.
func TestTurnHasTheTicksALearnerCanUse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sources := rapid.IntRange(0, 1_000_000).Draw(rt, "sources")
		polls := math.Exp(rapid.Float64Range(-2, 10).Draw(rt, "polls"))
		instant := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 7 * time.Minute, 2 * time.Hour}).Draw(rt, "instant")
		tick := learn.TickFor(sources, polls, instant)
		turn := float64(sources) / polls * float64(instant) / float64(tick)
		if tick < instant || tick%instant != 0 || turn > 384 || tick > instant && turn < 16 {
			rt.Fatalf("a tick is %v, and a turn of %d sources %v ticks", tick, sources, turn)
		}
		if tick > time.Hour && tick > instant && turn <= 192 {
			rt.Fatalf("a tick is %v, and half of it would have been enough for a turn of %v ticks", tick, turn)
		}
	})
}

// A budget of next to nothing makes a tick of centuries, and no more than a
// duration can hold.
func TestTickOfHardlyAnyBudget(t *testing.T) {
	for _, polls := range []float64{1e-12, 1e-300, math.SmallestNonzeroFloat64} {
		for _, instant := range []time.Duration{time.Second, 7 * time.Minute, 12 * time.Hour} {
			if got := learn.TickFor(1_000_000, polls, instant); got < 100*year || got%instant != 0 {
				t.Errorf("%g polls in %v for a million sources: the tick is %v, want at least a century", polls, instant, got)
			}
		}
	}
}
