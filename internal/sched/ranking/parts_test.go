package ranking_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
)

// Parts offer what one ranking of all would, also where only some of them were made
// again since what polls of their sources are worth has changed.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		p := ranking.NewParts(rapid.SampledFrom([]int{1, 3, 8, 16, 64}).Draw(t, "size"))
		worth, factor, flying := make([]float64, n), make([]float64, n), make([]bool, n)
		for slot := range freshet.Slot(n) {
			factor[slot] = rapid.SampledFrom([]float64{0.5, 1, 2}).Draw(t, "weight")
			p.Put(slot, freshet.Source{ID: id(slot), Weight: factor[slot]})
		}
		rank := func(part int) {
			from, to := p.Bounds(part, n)
			for slot := from; slot < to; slot++ {
				if p.Of(freshet.Slot(slot)) != part {
					t.Fatalf("slot %d is in part %d, want %d", slot, p.Of(freshet.Slot(slot)), part)
				}
				worth[slot] = float64(rapid.IntRange(0, 6).Draw(t, "worth"))
			}
			p.Rank(part, worth, rapid.IntRange(1, 12).Draw(t, "expected"))
		}
		for part := range p.Len() {
			rank(part)
		}
		for range rapid.IntRange(1, 12).Draw(t, "choices") {
			shut := freshet.Slot(rapid.IntRange(2, 9).Draw(t, "shut"))
			want := candidates(worth, factor, flying)
			most, taken := rapid.IntRange(1, n).Draw(t, "polls"), 0
			var offered []freshet.Slot
			p.Offer(worth, most, func(slot freshet.Slot, x float64) bool {
				if x != worth[slot]*factor[slot] || p.Factor(slot) != factor[slot] {
					t.Fatalf("slot %d is offered at %v with the factor %v, want %v and %v", slot, x, p.Factor(slot), worth[slot]*factor[slot], factor[slot])
				}
				offered = append(offered, slot)
				if slot%shut == 0 {
					return false
				}
				taken++
				flying[slot] = true
				return true
			})
			if taken < most && len(offered) != len(want) || !slices.Equal(offered, want[:len(offered)]) {
				t.Fatalf("offered %v, want them from %v", offered, want)
			}
			for slot := range flying {
				if flying[slot] && rapid.Bool().Draw(t, "ends") {
					p.Land(freshet.Slot(slot))
					flying[slot], worth[slot] = false, 0
				}
			}
			if rapid.Bool().Draw(t, "anew") {
				rank(rapid.IntRange(0, p.Len()-1).Draw(t, "part"))
			}
		}
		p.Remove(5)
		if p.Factor(5) != 0 || p.Factor(3*n) != 0 {
			t.Fatal("a source that is not there has a factor")
		}
	})
}
