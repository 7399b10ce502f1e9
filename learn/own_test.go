package learn_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/learn"
)

// What a source has for itself is a profile without a parent, to the bit, at first and
// after each poll.
func TestOwnIsAProfile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, want := learn.NewOwn(), learn.NewProfile()
		for {
			hours, minutes := got.Factors()
			wantHours, _, wantMinutes := want.Factors()
			if !slices.Equal(hours, wantHours) || !slices.Equal(minutes, wantMinutes) {
				t.Fatalf("the factors are %v and %v, want %v and %v", hours, minutes, wantHours, wantMinutes)
			}
			ticks := rapid.IntRange(0, 30).Draw(t, "ticks")
			if ticks == 0 {
				return
			}
			for range ticks {
				hour := rapid.IntRange(0, 23).Draw(t, "hour")
				seen, due := rapid.Float64Range(0, 3).Draw(t, "seen"), rapid.Float64Range(0, 3).Draw(t, "due")
				got.Add(hour, seen, due)
				want.Add(hour, seen, due)
			}
			got.Settle()
			want.Settle(nil, 3)
		}
	})
}
