package learn_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/units"
)

// What is taught of a source says how often it changes, and at which hours; it is taught
// once, counts as no poll and no capture, and is saved with the rest.
func TestTeach(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	source := freshet.Source{ID: "a", URL: "https://a.example/"}
	fresh := func() *learn.Learner {
		l := learn.New(learn.Config{Start: now.Add(-60 * units.Day), Tick: time.Minute})
		l.Put(now, 0, source, now.Add(-time.Hour))
		return l
	}
	var told []imported.UpdateTime
	for day := range 40 { // four times a day, in the morning
		for _, hour := range []int{6, 7, 8, 9} {
			at := now.Add(-time.Duration(50-day)*units.Day + time.Duration(hour)*time.Hour)
			told = append(told, imported.UpdateTime{After: at, Until: at.Add(10 * time.Second)})
		}
	}
	plain, taught, again := fresh(), fresh(), fresh()
	taught.Teach(0, told)
	again.Teach(0, told[:80])
	again.Teach(0, told[:80])
	again.Teach(0, told)
	again.Teach(0, told)
	perDay := taught.Outlook(now, 0).Now.Mean * 86400
	if before := plain.Outlook(now, 0).Now.Mean * 86400; perDay < 2 || perDay > 12 || before < 100 {
		t.Errorf("taught of four changes a day, it expects %.2f, and without %.2f", perDay, before)
	}
	parts := fresh()
	parts.Teach(0, told[:80])
	parts.Teach(0, told)
	if !bytes.Equal(memoryOf(t, again), memoryOf(t, parts)) || bytes.Equal(memoryOf(t, again), memoryOf(t, plain)) {
		t.Error("what is taught twice is learnt twice, or not at all")
	}
	chances := make([]float64, 1)
	again = fresh()
	again.Chances(chances, now, now.Add(time.Hour)) // which are kept for the next time
	again.Teach(0, told)
	again.Chances(chances, now, now.Add(time.Hour))
	if want := 1 - math.Exp(-again.Expect(0, now, now.Add(time.Hour))); math.Abs(chances[0]-want) > 1e-9 {
		t.Errorf("after a lesson the chance of the next hour is %.4f, want %.4f", chances[0], want)
	}
	if r := taught.Rhythm(now, 0); r.Taught != len(told) || r.Rate.Mean*86400 < 2 || r.Rate.Mean*86400 > 12 {
		t.Errorf("taught of four changes a day, its rhythm is %.2f a day by %d", r.Rate.Mean*86400, r.Taught)
	}
	if tally := taught.Tally(0); tally.Polls != 0 || tally.Captured != 0 {
		t.Errorf("what is taught counts as %v polls and %v captures", tally.Polls, tally.Captured)
	}
	restored := fresh()
	err := taught.Save(func(slot freshet.Slot, memory []byte) error { return restored.Restore(slot, memory) })
	if err != nil {
		t.Fatal(err)
	}
	restored.Teach(0, told)
	if !bytes.Equal(memoryOf(t, restored), memoryOf(t, taught)) {
		t.Error("restored, it is taught once more")
	}
}

// Of a source that changes in every tick no tick is known to be quiet, so that no rate is
// too high for it.
func TestTaughtChangesLeaveNoQuietBetween(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	l := learn.New(learn.Config{Start: start, Tick: time.Minute})
	now := start.Add(10 * time.Hour)
	l.Put(now, 0, freshet.Source{ID: "a", URL: "https://a.example/"}, now)
	var told []imported.UpdateTime
	for i := range 300 {
		at := start.Add(time.Duration(i)*time.Minute + 20*time.Second)
		told = append(told, imported.UpdateTime{After: at, Until: at.Add(10 * time.Second)})
	}
	l.Teach(0, told)
	if got := l.Outlook(now, 0).Now.Mean * 60; got < 1.5 {
		t.Errorf("the rate is %.3f a tick, want the highest that is told apart", got)
	}
}

func memoryOf(t *testing.T, l *learn.Learner) (all []byte) {
	err := l.Save(func(_ freshet.Slot, memory []byte) error {
		all = append(all, memory...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
