package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// partRun returns a run with sources that change more and less often, ranked so many at
// a time, once a tick; all at once if the size is 0.
func partRun(tick time.Duration, size int) *autoRun {
	r := newAutoRun(time.Minute, 600, 6)
	r.auto = policy.NewAuto(policy.AutoConfig{Start: noon, Instant: time.Minute, Tick: tick, Polls: 6, Part: size})
	for i := range 96 {
		s := freshet.Source{URL: fmt.Sprintf("https://h%d.example/%d", i%20, i), Weight: 1 + float64(i%3)}
		r.add(s, 1/float64(8+i*i))
	}
	return r
}

// found returns how many polls found a change.
func (r *autoRun) found() (n int) {
	for _, o := range r.outcomes {
		if o.Result == freshet.Changed {
			n++
		}
	}
	return n
}

// Where auto is asked but once between two rankings, it makes no difference that sources
// are ranked in parts: all parts are.
func TestPartsAtOnce(t *testing.T) {
	whole, parts := partRun(time.Minute, 0), partRun(time.Minute, 8)
	whole.run(t, nil)
	parts.run(t, nil)
	same := func(a, b freshet.Outcome) bool {
		return a.Source == b.Source && a.Began.Equal(b.Began) && a.Result == b.Result
	}
	if !slices.EqualFunc(whole.outcomes, parts.outcomes, same) {
		t.Errorf("%d polls are made by one ranking, and %d others by parts", len(whole.outcomes), len(parts.outcomes))
	}
}

// Where sources are ranked part by part, as many changes are found as if they are ranked
// at once, no source waits longer, and all is the same in the next run.
func TestPartsInTurn(t *testing.T) {
	const tick = 4 * time.Minute
	whole, parts, again := partRun(tick, 0), partRun(tick, 8), partRun(tick, 8)
	for _, r := range []*autoRun{whole, parts, again} {
		r.run(t, nil)
	}
	if a, b := whole.found(), parts.found(); float64(b) < 0.95*float64(a) {
		t.Errorf("%d changes are found by one ranking, and %d by parts", a, b)
	}
	same := func(a, b freshet.Outcome) bool { return a.Source == b.Source && a.Began.Equal(b.Began) }
	if slices.EqualFunc(whole.outcomes, parts.outcomes, same) {
		t.Error("parts were ranked at once: this shows nothing")
	}
	if !slices.EqualFunc(parts.outcomes, again.outcomes, same) {
		t.Error("the same run goes another way")
	}
	before, _ := whole.longestWait()
	if wait, of := parts.longestWait(); wait > 1.5*before {
		t.Errorf("%s waits for %v ticks, and no source longer than %v by one ranking", of, wait, before)
	}
}

// A source that is added is offered at the next choice, however many parts there are and
// whoever's turn it is, and so is one that says that it changes.
func TestPartsHearOfEdits(t *testing.T) {
	a := policy.NewAuto(policy.AutoConfig{Start: noon, Instant: time.Minute, Tick: time.Hour, Polls: 6, Part: 8})
	put := func(now time.Time, i int, since time.Time) {
		a.Put(now, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%03d", i)), URL: fmt.Sprintf("https://h%d.example/", i)}, since)
	}
	for i := range 64 {
		put(noon, i, noon)
	}
	offered := func(now time.Time) (slots []freshet.Slot) {
		a.Choose(now, 3, func(slot freshet.Slot, _ float64) bool {
			slots = append(slots, slot)
			return false
		})
		return slots
	}
	for m := range 30 {
		offered(noon.Add(time.Duration(m) * time.Minute))
	}
	now := noon.Add(30 * time.Minute)
	put(now, 64, time.Time{})
	if got := offered(now); len(got) == 0 || got[0] != 64 {
		t.Errorf("after a new source was added, %v are offered, want it first", got)
	}
	for i := range 64 { // all parts have to be looked at: some now, and the others soon
		put(now, i, time.Time{})
	}
	for range 8 {
		now = now.Add(time.Second)
		if wake := a.Choose(now, 0, nil); wake.After(now.Add(time.Hour / 8)) {
			t.Fatalf("the next choice is to be at %v, which is too late", wake)
		}
	}
	if got := offered(now); len(got) != 65 {
		t.Errorf("%d of 65 new sources are offered", len(got))
	}
}
