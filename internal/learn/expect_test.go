package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// What is expected of a source before any poll, by its kind.
func TestExpectedByKind(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
	put := func(slot freshet.Slot, paused bool, since time.Time) {
		s := page(fmt.Sprint("h", slot), 0)
		s.Paused = paused
		l.Put(hours(3), slot, s, since)
	}
	put(0, false, monday)
	put(1, true, monday)
	put(2, false, time.Time{})
	put(3, true, time.Time{})
	put(5, false, hours(20)) // by a clock that was ahead: at hour 3, when it was put
	expected := []float64{9, 9, 9, 9, 9, 9, 9, 9}
	gaps := []float64{9, 9, 9, 9, 9, 9, 9, 9}
	l.Expected(hours(10), expected, gaps)
	rate := l.RateOf(0)
	for slot, want := range []struct{ expected, gap float64 }{
		{10 * rate, 10}, {0, 0}, {math.Inf(1), 0}, {0, 0}, {0, 0}, {7 * rate, 7}, {0, 0}, {0, 0},
	} {
		if !(math.Abs(expected[slot]-want.expected) <= 1e-9) && expected[slot] != want.expected || gaps[slot] != want.gap {
			t.Errorf("of slot %d %v changes are expected after %v ticks, want %v after %v", slot, expected[slot], gaps[slot], want.expected, want.gap)
		}
	}
	l.Expected(hours(3), expected, gaps)
	if expected[5] != 0 || gaps[5] != 0 {
		t.Errorf("of a source that is seen at this moment %v changes are expected after %v ticks", expected[5], gaps[5])
	}
}

// What is expected never falls below 2% of an even share, and the outlook tells
// what is really thought.
func TestExpectedHasAFloor(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
	for slot := range freshet.Slot(2) {
		l.Put(monday, slot, page(fmt.Sprint("h", slot), 0), monday)
	}
	hour := 0.0
	for range 60 {
		hour += 1000
		l.Observe(time.Time{}, 0, same(hour))
		l.Observe(time.Time{}, 1, found(hour))
	}
	expected, gaps := make([]float64, 2), make([]float64, 2)
	l.Expected(hours(hour+50), expected, gaps)
	least := 0.02 * 50 / l.FullPass()
	if thought := l.Outlook(hours(hour+50), 0).Expected; expected[0] != least || thought >= least {
		t.Errorf("of a source that never changes %v changes are expected and %v are thought, want %v and less", expected[0], thought, least)
	}
	if thought := l.Outlook(hours(hour+50), 1).Expected; math.Abs(thought/expected[1]-1) > 1e-9 || expected[1] <= least {
		t.Errorf("of a source that always changes %v changes are expected, and the outlook says %v", expected[1], thought)
	}
}

// The longer ago a source was seen, the more changes are expected. The chance of
// one stays between 0 and 1.
func TestExpectedGrowsWithTheGap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tick := rapid.SampledFrom([]time.Duration{time.Minute, time.Hour}).Draw(rt, "tick")
		l := learn.New(learn.Config{Start: monday, Tick: tick, Polls: rapid.Float64Range(0.01, 2).Draw(rt, "polls")})
		const slots = 4
		for slot := range freshet.Slot(slots) {
			l.Put(monday, slot, page(fmt.Sprint("h", slot), 0), monday)
		}
		now := monday
		for range rapid.IntRange(0, 6).Draw(rt, "outcomes") {
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(60*tick)).Draw(rt, "later")))
			l.Observe(time.Time{}, freshet.Slot(rapid.IntRange(0, slots-1).Draw(rt, "slot")), freshet.Outcome{
				Began: now, Ended: now, Result: freshet.Result(rapid.IntRange(0, 1).Draw(rt, "result")),
			})
		}
		last, gaps, more := make([]float64, slots), make([]float64, slots), make([]float64, slots)
		for range 12 {
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(100*tick)).Draw(rt, "further")))
			l.Expected(now, more, gaps)
			for slot := range more {
				if more[slot] < last[slot]*(1-1e-6) {
					rt.Fatalf("after %v ticks %v changes are expected of slot %d, and %v were before", gaps[slot], more[slot], slot, last[slot])
				}
				o := l.Outlook(now, freshet.Slot(slot))
				if !(o.Chance >= 0 && o.Chance <= 1) {
					rt.Fatalf("slot %d has a chance of %v", slot, o.Chance)
				}
			}
			copy(last, more)
		}
	})
}

// Of a site that changes at nine, the changes of a day are expected at nine,
// also on days that no outcome has reached.
func TestExpectedHeedsTheHoursToCome(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.04})
	for slot := range freshet.Slot(8) { // so many that none has a profile of its own
		l.Put(monday, slot, page(fmt.Sprint("h", slot), 0), monday)
	}
	for d := range 60 { // seen before nine and after ten
		l.Observe(time.Time{}, 0, same(float64(24*d)+8.75))
		l.Observe(time.Time{}, 0, found(float64(24*d)+10.25))
	}
	expected, gaps := make([]float64, 1), make([]float64, 1)
	at := func(hour float64) float64 {
		l.Expected(hours(24*59+hour), expected, gaps)
		return expected[0]
	}
	for d := 1.0; d < 4; d++ {
		morning, later := at(24*d+11)-at(24*d+8), at(24*d+22)-at(24*d+19)
		if morning < 3*later {
			t.Errorf("%v days ahead %.3f changes are expected from eight to eleven, and %.3f in three hours of the evening", d, morning, later)
		}
	}
	// Beyond the window it runs evenly.
	far := 24.0 * 30
	if a, b := at(far+3)-at(far), at(far+15)-at(far+12); math.Abs(a/b-1) > 0.05 {
		t.Errorf("a month ahead %.4f changes are expected in three hours, and %.4f in three others", a, b)
	}
}

// In which slot a source is does not matter to it, and not to the others.
func TestSlotsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const slots = 6
		to := rapid.Permutation([]freshet.Slot{0, 1, 2, 3, 4, 5}).Draw(rt, "slots")
		fresh := func() *learn.Learner { return learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.1}) }
		plain, mixed := fresh(), fresh()
		for slot := range freshet.Slot(slots) {
			plain.Put(monday, slot, page(fmt.Sprint("h", slot/3), int(slot)), monday)
		}
		for i := range to {
			slot := freshet.Slot(slots - 1 - i) // and in another order
			mixed.Put(monday, to[slot], page(fmt.Sprint("h", slot/3), int(slot)), monday)
		}
		hour := 5.0
		for range rapid.IntRange(1, 12).Draw(rt, "polls") { // before any prior is renewed
			hour += 0.05
			slot := freshet.Slot(rapid.IntRange(0, slots-1).Draw(rt, "slot"))
			o := freshet.Outcome{Began: hours(hour), Ended: hours(hour), Result: freshet.Result(rapid.IntRange(0, 3).Draw(rt, "result"))}
			plain.Observe(time.Time{}, slot, o)
			mixed.Observe(time.Time{}, to[slot], o)
		}
		for slot := range freshet.Slot(slots) {
			if a, b := plain.Outlook(hours(8), slot), mixed.Outlook(hours(8), to[slot]); a != b {
				rt.Fatalf("a source in slot %d has the outlook\n%+v, and in slot %d\n%+v", slot, a, to[slot], b)
			}
		}
	})
}
