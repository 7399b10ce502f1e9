package learn_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// What is expected of a source does not depend on how many sites are looked at with it,
// though the courses of so many are not kept.
func TestManySitesAreLookedAtAlike(t *testing.T) {
	const sites = 9000
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	l := learn.New(learn.Config{Start: start, Tick: time.Minute, Polls: 100})
	now := start
	for i := range 2 * sites {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprint(i)), URL: fmt.Sprintf("https://h%d.example/%d", i%sites, i)}
		l.Put(now, freshet.Slot(i), s, now)
	}
	for i := range sites {
		now = now.Add(100 * time.Millisecond)
		o := freshet.Outcome{Since: start, Began: now, Ended: now}
		if i%3 > 0 {
			o.Result = freshet.Changed
		}
		l.Observe(now, freshet.Slot(i), o)
	}
	now = now.Add(time.Minute)
	together, alone, gaps := make([]float64, 2*sites), make([]float64, 1), make([]float64, 2*sites)
	l.Likely(now, 0, together, gaps, nil)
	differ := 0
	for slot, want := range together {
		if l.Likely(now, freshet.Slot(slot), alone, gaps, nil); alone[0] != want {
			t.Fatalf("of source %d %v changes are expected together with all, and %v alone", slot, want, alone[0])
		}
		if want != together[sites] {
			differ++
		}
	}
	if differ < sites/2 {
		t.Errorf("only %d of %d sources are expected to change as others do not", differ, 2*sites)
	}
}
