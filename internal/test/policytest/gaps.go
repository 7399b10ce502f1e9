package policytest

import (
	"testing"
	"time"

	"freshet/internal/freshet"
)

// Gaps polls one source whenever it is due, with the results given (1 for
// first, c for changed, u for unchanged, f for failed), and returns the times between.
func Gaps(t testing.TB, p freshet.Policy, results string) []time.Duration {
	t.Helper()
	p.Put(Noon, 0, freshet.Source{ID: "a"}, time.Time{})
	var out []time.Duration
	now := Noon
	for _, r := range results {
		taken := false
		offer := func(freshet.Slot, float64) bool { taken = true; return true }
		if again := p.Choose(now, 1, offer); !taken {
			out = append(out, again.Sub(now))
			now = again
			if p.Choose(now.Add(-1), 1, offer); taken {
				t.Fatalf("a poll before its time, %v", now)
			}
			p.Choose(now, 1, offer)
		}
		if !taken {
			t.Fatalf("no poll at %v, when it was due", now)
		}
		p.Observe(now, 0, freshet.Outcome{Began: now, Ended: now, Result: map[rune]freshet.Result{
			'1': freshet.First, 'c': freshet.Changed, 'u': freshet.Unchanged, 'f': freshet.Failed}[r]})
	}
	again := p.Choose(now, 1, func(freshet.Slot, float64) bool { return false })
	return append(out, again.Sub(now))
}
