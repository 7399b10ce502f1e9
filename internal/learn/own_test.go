package learn_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
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

// Where a tick is longer than an hour, a day has fewer bins, and what a source has for itself
// is saved and restored all the same.
func TestOwnOfLongTicks(t *testing.T) {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	begin := func() *learn.Learner {
		l := learn.New(learn.Config{Tick: 6 * time.Hour, Polls: 1000})
		l.Put(start, 0, freshet.Source{ID: "a", URL: "https://a.example/"}, start)
		return l
	}
	l := begin()
	for i := range 5 {
		at := start.Add(time.Duration(7*(i+1)) * time.Hour)
		l.Observe(at, 0, freshet.Outcome{Result: freshet.Changed, Since: at.Add(-7 * time.Hour), Began: at, Ended: at})
	}
	if !l.Rhythm(start.Add(36*time.Hour), 0).Own {
		t.Fatal("the source has no profile of its own")
	}
	again := begin()
	if err := l.Save(again.Restore); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(saved(t, again), saved(t, l)) {
		t.Error("what was restored differs")
	}
}
