package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

// A turn is the number of sources that are polled, at a poll in two ticks:
// whatever is put, paused, put again or removed.
func TestTurnCountsTheSourcesPolled(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.5})
	put := func(slot freshet.Slot, paused bool) {
		s := page("h", int(slot))
		s.Paused = paused
		l.Put(monday, slot, s, monday)
	}
	for i, step := range []struct {
		what string
		do   func()
		want float64 // sources
	}{
		{"nothing", func() {}, 1}, // of none there is no turn
		{"one is put", func() { put(0, false) }, 1},
		{"two more, leaving out a slot", func() { put(1, false); put(3, false) }, 3},
		{"one is put again", func() { put(1, false) }, 3},
		{"one is paused", func() { put(1, true) }, 2},
		{"it is paused again", func() { put(1, true) }, 2},
		{"one is put paused", func() { put(4, true) }, 2},
		{"it is resumed", func() { put(4, false) }, 3},
		{"one that is paused is removed", func() { l.Remove(1) }, 3},
		{"it is removed again", func() { l.Remove(1) }, 3},
		{"what never was is removed", func() { l.Remove(2); l.Remove(99) }, 3},
		{"one is removed", func() { l.Remove(0) }, 2},
		{"its slot is used again", func() { put(0, false) }, 3},
		{"all are removed", func() { l.Remove(0); l.Remove(3); l.Remove(4) }, 1},
	} {
		step.do()
		if got := l.FullPass(); got != 2*step.want {
			t.Fatalf("%d, %s: a turn has %v ticks, want %v", i, step.what, got, 2*step.want)
		}
	}
}

// A source that is paused goes on to be known: resumed, it has waited since it
// was last seen, and is thought of as before.
func TestPauseKeepsWhatIsKnown(t *testing.T) {
	resumed, never := alone(), alone()
	s := freshet.Source{ID: "s", URL: "https://h.example/"}
	for _, o := range []freshet.Outcome{found(10), same(30), found(50)} {
		resumed.Observe(time.Time{}, 0, o)
		never.Observe(time.Time{}, 0, o)
	}
	s.Paused = true
	resumed.Put(hours(60), 0, s, time.Time{})
	expected, gaps := []float64{7}, []float64{7}
	resumed.Expected(hours(80), expected, gaps)
	if expected[0] != 0 || gaps[0] != 0 {
		t.Errorf("of a source that is paused %v changes are expected after %v ticks, want none", expected[0], gaps[0])
	}
	s.Paused = false
	resumed.Put(hours(90), 0, s, time.Time{})
	if got, want := resumed.Outlook(hours(100), 0), never.Outlook(hours(100), 0); got != want {
		t.Errorf("a source that was paused has the outlook\n%+v, want\n%+v", got, want)
	}
}

// Of a source that was removed nothing is told, and in its slot another begins
// with nothing.
func TestRemovedSourcesAreForgotten(t *testing.T) {
	l, _ := told(found(10), found(20))
	l.Remove(0)
	if got := l.Tally(0); got != (outlook.Tally{}) {
		t.Errorf("of a source that was removed there is the tally %+v", got)
	}
	if got, want := l.Outlook(hours(30), 0), (outlook.Outlook{At: hours(30)}); got != want {
		t.Errorf("of a source that was removed there is the outlook %+v", got)
	}
	l.Observe(time.Time{}, 0, found(40)) // a poll that was under way
	l.Put(hours(50), 0, freshet.Source{ID: "new", URL: "https://h.example/"}, time.Time{})
	if got := l.Outlook(hours(60), 0); got.Chance != 1 || !got.Since.IsZero() || got.Polls != 0 {
		t.Errorf("a new source in a slot that was used has the outlook %+v", got)
	}
}

// A source that moves to another host takes along what is known of it, and is
// from then on one of that site.
func TestSourceMovesToAnotherSite(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.05})
	for slot := range freshet.Slot(4) {
		l.Put(monday, slot, page("old", int(slot)), monday)
	}
	l.Put(monday, 4, page("new", 4), monday)
	for slot := range freshet.Slot(5) {
		l.Observe(time.Time{}, slot, found(10))
	}
	before := l.Outlook(hours(11), 0)
	l.Put(hours(10), 0, page("new", 0), time.Time{})
	after := l.Outlook(hours(11), 0)
	if before.Tally != after.Tally || !before.Since.Equal(after.Since) || math.Abs(after.Expected/before.Expected-1) > 0.2 {
		t.Errorf("the outlook of a source that moved goes from\n%+v to\n%+v", before, after)
	}
	expected := make([]float64, 5)
	for hour := 12.0; hour < 100; hour += 4 { // and the clocks of both sites go on
		l.Observe(time.Time{}, 1, same(hour))
		l.Observe(time.Time{}, 0, same(hour+1))
		l.Expected(hours(hour+3), expected, make([]float64, 5))
		for slot, x := range expected {
			if !finite(x) || x == 0 {
				t.Fatalf("at hour %v %v changes are expected of slot %d", hour+3, x, slot)
			}
		}
	}
}

// Sites come and go: what is left is the same, and what comes again begins again.
func TestSitesComeAndGo(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.05})
	for slot := range freshet.Slot(6) {
		l.Put(monday, slot, page(fmt.Sprint("h", slot/2), int(slot)), monday)
	}
	for slot := range freshet.Slot(6) {
		l.Observe(time.Time{}, slot, found(10))
	}
	for hour := range 9 { // until the priors have been renewed they follow the number of sources
		at := hours(float64(11 + hour))
		l.Observe(time.Time{}, 5, freshet.Outcome{Began: at, Ended: at, Result: freshet.Failed})
	}
	want := l.Outlook(hours(20), 4)
	for _, slot := range []freshet.Slot{0, 1, 3} { // the first site, and a page of the second
		l.Remove(slot)
	}
	if got := l.Outlook(hours(20), 4); got.Expected != want.Expected || got.Now != want.Now {
		t.Errorf("when another site went, the outlook went from\n%+v to\n%+v", want, got)
	}
	parts := saved(t, l)
	if len(parts) != 4 || parts[2] == "" || parts[4] == "" || parts[5] == "" {
		t.Errorf("of three sources that are left %d parts are known", len(parts)-1)
	}
	l.Put(hours(20), 0, page("h0", 0), hours(20))
	l.Observe(time.Time{}, 4, same(40))
	sane(t, l, hours(50), 6)
	expected, gaps := make([]float64, 6), make([]float64, 6)
	l.Expected(hours(50), expected, gaps)
	for slot, gap := range []float64{30, 0, 40, 0, 10, 40} {
		if math.Abs(gaps[slot]-gap) > 1e-9 || (expected[slot] > 0) != (gap > 0) {
			t.Errorf("slot %d has waited for %v ticks, and %v changes are expected; want %v ticks", slot, gaps[slot], expected[slot], gap)
		}
	}
}

// Whichever sites go, in whatever order, the clocks of all others go on.
func TestClocksOfSitesGoOn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.05})
		const slots = 6
		l.Put(monday, slots, page("stays", 0), monday) // is always there
		there := map[freshet.Slot]bool{}
		hour := 1.0
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			slot := freshet.Slot(rapid.IntRange(0, slots-1).Draw(rt, "slot"))
			if there[slot] = !there[slot]; there[slot] {
				l.Put(hours(hour), slot, page(fmt.Sprint("h", slot/2), int(slot)), hours(hour))
			} else {
				l.Remove(slot)
			}
			hour++
			l.Observe(time.Time{}, slots, same(hour))
		}
		l.Observe(time.Time{}, slots, same(hour+100))
		expected := make([]float64, slots)
		l.Expected(hours(hour+100), expected, make([]float64, slots))
		for slot := range freshet.Slot(slots) {
			if !there[slot] {
				if expected[slot] != 0 {
					rt.Fatalf("of slot %d, where there is no source, %v changes are expected", slot, expected[slot])
				}
				continue
			}
			if got, least := expected[slot], 30*l.RateOf(slot); got < least {
				rt.Fatalf("after a hundred hours %v changes are expected of slot %d, want %v at least", got, slot, least)
			}
		}
	})
}
