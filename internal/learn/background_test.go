package learn_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/test/tier"
)

// When sites and sources enter a tick makes no difference to the bit, as long as it is
// before the next: neither to what is learnt nor to what is expected, whatever is asked
// and edited meanwhile.
func TestChoresLeaveNoTrace(t *testing.T) {
	for i, tick := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		atOnce := 1 + i%2*3
		t.Run(fmt.Sprint(tick, " ", atOnce), func(t *testing.T) {
			w := busyWorld(3, tick, 900)
			eager, lazy := w.again(tick), w.again(tick)
			eager.DoSlices(0, 0, 0)
			lazy.DoSlices(atOnce, 0, 0)
			expected := func(l *learn.Learner, now time.Time, from, n int) []float64 {
				dst := make([]float64, n)
				l.Likely(now, freshet.Slot(from), dst, make([]float64, n), nil)
				return dst
			}
			for i, o := range w.log {
				if i > len(w.log)/4 && i%24 != 0 { // too seldom for profiles of their own
					continue
				}
				for _, l := range []*learn.Learner{eager, lazy} {
					switch moved := w.sources[o.slot]; {
					case i%13 == 5 || i%72 == 0:
						moved.URL = fmt.Sprintf("https://moved%d.example/%d", i, o.slot)
						l.Put(o.Ended, o.slot, moved, time.Time{})
					case i%11 == 7:
						l.Remove(o.slot)
						l.Put(o.Ended, o.slot, moved, o.Ended)
					}
					l.Observe(time.Time{}, o.slot, o.Outcome)
				}
				if a, b := expected(eager, o.Ended, 0, 12), expected(eager, o.Ended, 5, 4); i%7 == 0 && !slices.Equal(a[5:9], b) {
					t.Fatalf("after %d outcomes %v are expected of some, and %v if they are asked for alone", i+1, a[5:9], b)
				}
				if i%31 == 0 { // of some only: the others are behind
					if a, b := expected(eager, o.Ended, 3, 5), expected(lazy, o.Ended, 3, 5); !slices.Equal(a, b) {
						t.Fatalf("after %d outcomes %v changes are expected, and %v where chores are left for later", i+1, a, b)
					}
					if a, b := eager.Outlook(o.Ended, 11), lazy.Outlook(o.Ended, 11); a.Now != b.Now || a.Expected != b.Expected {
						t.Fatalf("after %d outcomes the outlook is %+v, and %+v where chores are left for later", i+1, a, b)
					}
				}
			}
			if a, b := saved(t, eager), saved(t, lazy); !maps.Equal(a, b) {
				t.Errorf("where chores are left for later, another is known: %s", differing(a, b))
			}
		})
	}
}

// A sweep that is cut into slices goes on after a restart where it was, to the bit, and
// comes to about the same.
func TestSweepInSlices(t *testing.T) {
	tier.Slow(t, "it learns from many pages")
	const tick = time.Minute
	w := busyWorld(4, tick, 900)
	fresh := func() *learn.Learner {
		l := w.again(tick)
		l.DoSlices(0, 1, 2)
		return l
	}
	whole := fresh()
	for _, o := range w.log {
		whole.Observe(time.Time{}, o.slot, o.Outcome)
	}
	want := saved(t, whole)
	for at := range 40 {
		at = len(w.log) * at / 40
		first, second := fresh(), fresh()
		for _, o := range w.log[:at] {
			first.Observe(time.Time{}, o.slot, o.Outcome)
		}
		parts := saved(t, first)
		for _, slot := range slices.Backward(slices.Sorted(maps.Keys(parts))) { // in which order does not matter
			if err := second.Restore(slot, []byte(parts[slot])); err != nil {
				t.Fatalf("restoring slot %d: %v", slot, err)
			}
		}
		for _, o := range w.log[at:] {
			second.Observe(time.Time{}, o.slot, o.Outcome)
		}
		if got := saved(t, second); !maps.Equal(got, want) {
			t.Errorf("restored after %d of %d outcomes, another is known: %s", at, len(w.log), differing(got, want))
		}
	}
	atOnce := saved(t, w.Learner)
	if maps.Equal(atOnce, want) {
		t.Error("no sweep was cut: this shows nothing")
	}
	now := w.log[len(w.log)-1].Ended
	for slot := range w.sources {
		a, b := w.Outlook(now, freshet.Slot(slot)).Now.Mean, whole.Outlook(now, freshet.Slot(slot)).Now.Mean
		if a/b < 0.8 || a/b > 1.25 {
			t.Errorf("source %d changes %v times a second by sweeps at once, and %v by slices", slot, a, b)
		}
	}
}
