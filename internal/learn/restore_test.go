package learn_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// restart replaces the second Learner by one that has the same sources in the same slots, put in any order, and the
// saved state of the first.
func (b *bustle) restart(parts map[freshet.Slot]string) {
	var taken []freshet.Slot
	for slot, id := range b.there {
		if id != "" {
			taken = append(taken, freshet.Slot(slot))
		}
	}
	l := b.fresh()
	l.GrowAs(b.first)
	for _, slot := range rapid.Permutation(taken).Draw(b.T, "put") {
		l.Put(b.now, slot, b.is[slot], b.since[slot])
	}
	for _, slot := range append([]freshet.Slot{-1}, rapid.Permutation(taken).Draw(b.T, "restored")...) {
		if err := l.Restore(slot, []byte(parts[slot])); err != nil {
			b.Fatalf("restoring slot %d: %v", slot, err)
		}
	}
	b.second = l
}

// Whatever came, went and moved before, a Learner that is told of the sources in their slots and of what was saved goes
// on to the bit.
func TestRestoreInTheSameSlots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBustle(rt)
		for range 1 + b.below(3, "starts") {
			for range b.below(100, "before") {
				b.happen()
			}
			parts := saved(t, b.first)
			b.restart(parts)
			if got := saved(t, b.second); !maps.Equal(got, parts) {
				rt.Fatalf("after a start another is known: %s", differing(got, parts))
			}
			for range b.below(60, "after") {
				b.poll(b.below(slots, "slot"))
			}
			if got, want := saved(t, b.second), saved(t, b.first); !maps.Equal(got, want) {
				rt.Fatalf("some polls after a start another is known: %s", differing(got, want))
			}
		}
	})
}

// A site that gets tags of which nothing is known, while sites get new priors, is saved as any other.
func TestNewTagsDuringASweep(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Polls: 1000}) // a sweep takes three ticks, of a minute each
	l.DoSlices(1000, 1000, 1)
	const sites = 290
	put := func(l *learn.Learner, i int, tags ...string) {
		l.Put(monday, freshet.Slot(i), page(fmt.Sprint("site", i/2), i, tags...), time.Time{})
	}
	for i := range 2 * sites {
		put(l, i)
	}
	for i := range sites {
		at := monday.Add(time.Duration(i) * time.Second)
		l.Observe(at, 0, freshet.Outcome{Cursor: freshet.Cursor(i + 1), Result: freshet.Changed, Since: monday, Began: at, Ended: at})
		if put(l, 2*i, fmt.Sprint("tag", i)); i%10 > 0 {
			continue
		}
		again := learn.New(learn.Config{Start: monday})
		for j := range 2 * sites {
			put(again, j)
		}
		parts := saved(t, l)
		for _, slot := range slices.Sorted(maps.Keys(parts)) {
			if err := again.Restore(slot, []byte(parts[slot])); err != nil {
				t.Fatalf("after %d sites slot %d cannot be restored: %v", i+1, slot, err)
			}
		}
	}
}
