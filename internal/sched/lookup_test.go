package sched_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A lookup finds what a map would, whatever comes and goes. Texts are few enough for their
// places to fall together, and some slots have the same.
func TestLookupIsAMap(t *testing.T) {
	const slots, texts = 3000, 2500
	all := make([]string, slots)
	for i := range all {
		all[i] = fmt.Sprint("text ", i%texts)
	}
	rapid.Check(t, func(t *rapid.T) {
		got, want := sched.NewLookup(all), map[string]freshet.Slot{}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			from := rapid.IntRange(0, slots-1).Draw(t, "from")
			to := rapid.IntRange(from, slots-1).Draw(t, "to")
			drops := rapid.IntRange(0, 2).Draw(t, "what") == 0
			for i := from; i <= to; i++ {
				if slot := freshet.Slot(i); drops {
					got.Drop(slot)
					delete(want, all[i])
				} else {
					got.Put(slot)
					want[all[i]] = slot
				}
			}
		}
		for _, text := range append(all, "none") {
			slot, ok := got.Get(text)
			if w, is := want[text]; ok != is || ok && slot != w {
				t.Fatalf("%q is found in slot %d, %v, want %d, %v", text, slot, ok, w, is)
			}
		}
	})
}
