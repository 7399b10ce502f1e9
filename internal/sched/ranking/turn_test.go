package ranking_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(slot freshet.Slot) freshet.SourceID { return freshet.SourceID(fmt.Sprint(9-slot%10, slot)) }

func TestInstants(t *testing.T) {
	grid := ranking.NewInstants(time.Time{}, 0)
	grid.Begin(noon)
	grid.Begin(noon.Add(time.Hour)) // it has begun
	for after, want := range map[time.Duration]int64{
		-time.Hour: 0, -time.Second: 0, 0: 0, 29 * time.Second: 0, 30 * time.Second: 1, time.Minute: 1, 89 * time.Second: 1, time.Hour: 60,
	} {
		if got := grid.At(noon.Add(after)); got != want {
			t.Errorf("%v after the start is instant %d, want %d", after, got, want)
		}
	}
	if got := grid.Time(3); !got.Equal(noon.Add(3 * time.Minute)) {
		t.Errorf("instant 3 ends at %v, want three minutes after the start", got)
	}
	late := ranking.NewInstants(noon, time.Hour)
	late.Begin(noon.Add(time.Minute))
	if got := late.Time(1); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("the first instant ends at %v, want an hour after the start that was given", got)
	}
}

// Whatever is put, moved and dropped, the first of a queue is the earliest, and of
// equals the one with the smallest ID.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q ranking.Queue
		due := map[freshet.Slot]int64{} // of those in the queue
		for slot := range freshet.Slot(20) {
			q.Name(slot, id(slot))
		}
		if !q.Is(7, id(7)) || q.Is(7, "x") || q.Is(20, id(20)) {
			t.Fatalf("slot 7 is not that of %q alone", id(7))
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			slot := freshet.Slot(rapid.IntRange(0, 19).Draw(t, "slot"))
			switch at := int64(rapid.IntRange(0, 30).Draw(t, "due")); rapid.IntRange(0, 9).Draw(t, "step") {
			default:
				q.Set(slot, at)
				due[slot] = at
			case 6, 7:
				q.Drop(slot)
				delete(due, slot)
			case 8:
				if !q.Holds(slot) {
					q.Note(slot, at)
					if q.Due(slot) != at {
						t.Fatalf("slot %d is due at %d, want %d", slot, q.Due(slot), at)
					}
				}
			case 9: // all again, in another order
				q.Reset(func(slot freshet.Slot, was int64) int64 {
					if was != due[slot] {
						t.Fatalf("slot %d was due at %d, want %d", slot, was, due[slot])
					}
					due[slot] = (was*7 + int64(slot)) % 31
					return due[slot]
				})
			}
			var want []freshet.Slot
			for slot := range due {
				want = append(want, slot)
			}
			slices.SortFunc(want, func(a, b freshet.Slot) int { return cmp.Or(cmp.Compare(due[a], due[b]), cmp.Compare(id(a), id(b))) })
			first, at, ok := q.First()
			if ok != (len(want) > 0) || ok && (first != want[0] || at != due[first]) || !ok && at != ranking.Never {
				t.Fatalf("first is %d, due at %d (%v), want %v", first, at, ok, want)
			}
		}
		q.Forget(3)
		if q.Holds(3) || q.Is(3, id(3)) {
			t.Fatal("a slot that nobody has is still in the queue, or has a name")
		}
	})
}

// A ranking offers what is worth most, whatever has been polled, refused, edited or
// removed since, and every source once an instant.
func TestRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ranking.Ranking
		const n = 40
		worth, factor := make([]float64, n), make([]float64, n)
		flying, there := make([]bool, n), make([]bool, n)
		edit := func(slot freshet.Slot) {
			s := freshet.Source{ID: id(slot), Weight: rapid.SampledFrom([]float64{0.5, 1, 2}).Draw(t, "weight"), Paused: rapid.IntRange(0, 9).Draw(t, "paused") == 0}
			if isNew := r.Put(slot, s); isNew == there[slot] {
				t.Fatalf("it is %v that slot %d is new", isNew, slot)
			}
			there[slot] = true
			factor[slot] = s.Weight
			if s.Paused {
				factor[slot] = 0
			}
			if r.Factor(slot) != factor[slot] {
				t.Fatalf("the factor of slot %d is %v, want %v", slot, r.Factor(slot), factor[slot])
			}
		}
		order := rapid.Permutation(slices.Collect(func(yield func(freshet.Slot) bool) {
			for slot := range freshet.Slot(n) {
				if !yield(slot) {
					return
				}
			}
		})).Draw(t, "order")
		for _, slot := range order {
			edit(slot)
		}
		for range rapid.IntRange(1, 6).Draw(t, "instants") {
			for slot := range worth {
				worth[slot] = float64(rapid.IntRange(0, 6).Draw(t, "worth"))
			}
			r.Begin(rapid.IntRange(1, 12).Draw(t, "expected"))
			r.Scan(worth, 0, n/2)
			r.Scan(worth, n/2, n)
			r.End()
			for range rapid.IntRange(1, 4).Draw(t, "choices") {
				shut := freshet.Slot(rapid.IntRange(2, 9).Draw(t, "shut"))
				want := candidates(worth, factor, flying)
				most := rapid.IntRange(1, n).Draw(t, "polls")
				var offered []freshet.Slot
				taken := 0
				r.Offer(worth, most, func(slot freshet.Slot, x float64) bool {
					if x != worth[slot]*factor[slot] {
						t.Fatalf("slot %d is offered at %v, want %v", slot, x, worth[slot]*factor[slot])
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
			}
			for slot := range flying {
				if flying[slot] && rapid.Bool().Draw(t, "ends") {
					r.Land(freshet.Slot(slot))
					flying[slot], worth[slot] = false, 0
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "edit") == 0 {
				edit(freshet.Slot(rapid.IntRange(0, n-1).Draw(t, "slot")))
			}
		}
		r.Remove(5)
		if r.Factor(5) != 0 || r.Factor(n+7) != 0 {
			t.Fatal("a source that is not there has a factor")
		}
	})
}

// A source that is paused and resumed while it is being polled is not offered again before the
// poll ends.
func TestPausedInFlight(t *testing.T) {
	var r ranking.Ranking
	worth := []float64{1}
	offers := func() (n int) {
		r.Begin(1)
		r.Scan(worth, 0, 1)
		r.End()
		r.Offer(worth, 1, func(freshet.Slot, float64) bool { n++; return true })
		return n
	}
	r.Put(0, freshet.Source{ID: "a"})
	if n := offers(); n != 1 {
		t.Fatalf("a new source is offered %d times, want once", n)
	}
	r.Put(0, freshet.Source{ID: "a", Paused: true})
	r.Put(0, freshet.Source{ID: "a"})
	if n := offers(); n != 0 {
		t.Errorf("a source in flight is offered %d times, want never", n)
	}
	r.Land(0)
	if n := offers(); n != 1 {
		t.Errorf("a source whose poll has ended is offered %d times, want once", n)
	}
}

// candidates returns what is worth something and not being polled, the most worth
// first, and of equals the smaller ID.
func candidates(worth, factor []float64, flying []bool) (list []freshet.Slot) {
	for slot := range worth {
		if worth[slot]*factor[slot] > 0 && !flying[slot] {
			list = append(list, freshet.Slot(slot))
		}
	}
	slices.SortFunc(list, func(a, b freshet.Slot) int {
		return cmp.Or(cmp.Compare(worth[b]*factor[b], worth[a]*factor[a]), cmp.Compare(id(a), id(b)))
	})
	return list
}
