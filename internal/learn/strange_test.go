package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A site is a stranger until a sample of its pages has told something, or some time
// has passed.
func TestStrangeSites(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := learn.New(learn.Config{Tick: time.Hour})
	put := func(slot freshet.Slot, site string) {
		l.Put(start, slot, freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", slot)), URL: fmt.Sprintf("https://%s/%d", site, slot)}, start)
	}
	for slot := range freshet.Slot(16) {
		put(slot, "large.example")
	}
	put(16, "single.example")
	strange := make([]float64, 18)
	at := start.Add(24 * time.Hour)
	for seen, want := range []float64{1, 0.75, 0.5, 0.25, 0, 0} {
		l.Novelty(strange)
		if got := strange[15]; math.Abs(got-want) > 1e-9 {
			t.Errorf("after %d of 16 pages were polled, another is strange by %v, want %v", seen, got, want)
		}
		for slot := range seen {
			if strange[slot] != 0 {
				t.Errorf("page %d was polled, and is strange by %v", slot, strange[slot])
			}
		}
		if strange[16] != 0 || strange[17] != 0 {
			t.Errorf("a page that is alone, or none, is strange by %v and %v", strange[16], strange[17])
		}
		at = at.Add(time.Minute)
		l.Observe(at, freshet.Slot(seen), freshet.Outcome{Source: freshet.SourceID(fmt.Sprint("s", seen)), Began: at, Ended: at, Since: start, Result: freshet.Unchanged})
	}
}
