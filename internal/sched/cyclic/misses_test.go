package cyclic_test

import (
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sched/cyclic"
)

// The fewest misses are those of an optimal plan, however often they are asked
// for and in whatever order.
func TestFewestMisses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.IntRange(1, 12).Draw(t, "period")
		h := cyclic.Timeline{Pages: rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(1, 5*period), 0, 12, rapid.ID), 1, 3).Draw(t, "pages")}
		m := cyclic.NewMisses(h, period)
		for _, polls := range rapid.SliceOfN(rapid.IntRange(1, period), 1, 8).Draw(t, "polls") {
			want := h.Count(period, planned(t, h, period, polls, cyclic.Optimal)).Misses
			if got := m.Fewest(polls); got != want {
				t.Fatalf("%d polls miss %d changes at the least, want %d", polls, got, want)
			}
		}
	})
}
