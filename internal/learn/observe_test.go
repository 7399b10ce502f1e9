package learn_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// An outcome that was learnt from already is passed over, wherever it comes; one
// that has no place in the log never was.
func TestOutcomesCountOnce(t *testing.T) {
	at := func(o freshet.Outcome, cursor freshet.Cursor) freshet.Outcome {
		o.Cursor = cursor
		return o
	}
	for _, c := range []struct {
		what     string
		outcomes []freshet.Outcome
		polls    float64
		upto     freshet.Cursor
	}{
		{"in order", []freshet.Outcome{at(found(10), 1), at(found(20), 2)}, 2, 2},
		{"twice the same", []freshet.Outcome{at(found(10), 1), at(found(20), 1)}, 1, 1},
		{"an older one", []freshet.Outcome{at(found(10), 7), at(found(20), 3)}, 1, 7},
		{"with a gap", []freshet.Outcome{at(found(10), 3), at(found(20), 9)}, 2, 9},
		{"not in the log", []freshet.Outcome{at(found(10), 5), found(20), found(30)}, 3, 5},
	} {
		l, _ := told(c.outcomes...)
		if got := l.Tally(0).Polls; math.Abs(got-c.polls) > 0.1 || l.Upto() != c.upto {
			t.Errorf("%s: %v polls were learnt from, up to outcome %d; want %v, up to %d", c.what, got, l.Upto(), c.polls, c.upto)
		}
	}
}

// An outcome of a source that is not there teaches nothing, but is not asked for
// again.
func TestOutcomesOfNoSource(t *testing.T) {
	l, before := told(found(10))
	for i, slot := range []freshet.Slot{1, 99} {
		o := found(500)
		o.Cursor = freshet.Cursor(40 + i)
		l.Observe(time.Time{}, slot, o)
		if l.Upto() != o.Cursor {
			t.Errorf("an outcome of slot %d, where there is no source, leaves outcome %d as the last", slot, l.Upto())
		}
	}
	if after := l.RateOf(0); after != before || l.FullPass() != 100 {
		t.Errorf("outcomes of no source moved the rate from %v to %v, and made the turn %v ticks", before, after, l.FullPass())
	}
}

// What a poll tells depends on whether the source was seen, and when.
func TestWhatAPollTells(t *testing.T) {
	failed := freshet.Outcome{Began: hours(20), Ended: hours(20), Result: freshet.Failed}
	looked := freshet.Outcome{Began: hours(20), Ended: hours(20), Result: freshet.First}
	long := freshet.Outcome{Began: hours(15), Ended: hours(20), Result: freshet.Changed}
	for _, c := range []struct {
		what  string
		then  freshet.Outcome
		since float64 // the hour at which it is thought to have been last seen
		polls float64
		moves bool // the rate
	}{
		{"a poll that failed", failed, 10, 1, false},
		{"a first look under another recipe", looked, 20, 1, false},
		{"a poll at the same moment", found(10), 10, 1, false},
		{"a poll before, by a clock that was set back", found(8), 8, 1, false},
		{"a poll that took long", long, 15, 2, true},
		{"a poll that found nothing", same(20), 20, 2, true},
	} {
		// Priors move with time alone, so the rate is compared with that after a
		// poll that failed.
		_, before := told(found(10), freshet.Outcome{Ended: c.then.Ended, Result: freshet.Failed})
		l, after := told(found(10), c.then)
		got := l.Outlook(hours(30), 0)
		if !got.Since.Equal(hours(c.since)) {
			t.Errorf("%s: last seen at %v, want %v", c.what, got.Since, hours(c.since))
		}
		if math.Abs(got.Polls-c.polls) > 0.05 {
			t.Errorf("%s: %v polls are in the tally, want %v", c.what, got.Polls, c.polls)
		}
		if (after != before) != c.moves {
			t.Errorf("%s: the rate goes from %v to %v", c.what, before, after)
		}
	}
}

// A source that is not known to have been seen, and whose first outcome in the
// log says when it was, begins there: as if that had been known from the start.
func TestFirstOutcomeSaysSince(t *testing.T) {
	put := func(since time.Time) *learn.Learner {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
		l.Put(hours(50), 0, freshet.Source{ID: "s", URL: "https://h.example/"}, since)
		return l
	}
	for _, result := range []freshet.Result{freshet.Changed, freshet.Unchanged, freshet.Failed} {
		knew, told, never := put(hours(30)), put(time.Time{}), put(time.Time{})
		o := freshet.Outcome{Began: hours(60), Ended: hours(60), Result: result}
		never.Observe(time.Time{}, 0, o)
		o.Since = hours(30)
		knew.Observe(time.Time{}, 0, o)
		told.Observe(time.Time{}, 0, o)
		want, got := knew.Outlook(hours(70), 0), told.Outlook(hours(70), 0)
		if got != want {
			t.Errorf("%v: the outlook is\n%+v, want\n%+v", result, got, want)
		}
		if never.Outlook(hours(70), 0) == want {
			t.Errorf("%v: without that the outlook is the same, %+v", result, want)
		}
	}
	l := put(time.Time{})
	o := found(60)
	o.Since = hours(90) // by a clock that was ahead
	l.Observe(time.Time{}, 0, o)
	if got := l.Tally(0).Watched; math.Abs(got-10*3600) > 1 {
		t.Errorf("a source put at hour 50 and said to have been seen after its poll at hour 60 was watched for %v seconds, want ten hours", got)
	}
}

// The tally counts every poll that saw the source again, and the time between
// them, and no other.
func TestTalliesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := learn.New(learn.Config{Start: monday, Tick: time.Minute, Polls: 1, Memory: 1e6 * time.Hour})
		const slots = 3
		seen := map[freshet.Slot]time.Time{}
		var polls, captured, watched [slots]float64
		for slot := range freshet.Slot(slots) {
			l.Put(monday, slot, page("h", int(slot)), monday)
			seen[slot] = monday
		}
		now := monday
		for range rapid.IntRange(1, 40).Draw(rt, "polls") {
			now = now.Add(time.Duration(rapid.Int64Range(int64(time.Second), int64(200*time.Minute)).Draw(rt, "later")))
			slot := freshet.Slot(rapid.IntRange(0, slots-1).Draw(rt, "slot"))
			result := freshet.Result(rapid.IntRange(0, 3).Draw(rt, "result"))
			l.Observe(time.Time{}, slot, freshet.Outcome{Began: now, Ended: now, Result: result})
			switch result {
			case freshet.Failed:
				continue
			case freshet.Changed:
				captured[slot]++
				fallthrough
			case freshet.Unchanged:
				polls[slot]++
				watched[slot] += now.Sub(seen[slot]).Seconds()
			}
			seen[slot] = now
		}
		whole := 0.0
		for slot := range freshet.Slot(slots) {
			got := l.Tally(slot)
			for what, pair := range map[string][2]float64{
				"polls": {got.Polls, polls[slot]}, "captured": {got.Captured, captured[slot]}, "watched": {got.Watched, watched[slot]},
			} {
				if math.Abs(pair[0]-pair[1]) > 1e-3*pair[1] {
					rt.Fatalf("the %s of slot %d are %v, want %v", what, slot, pair[0], pair[1])
				}
			}
			whole += polls[slot]
		}
		sum := 0.0
		for _, bin := range l.Reliability() {
			sum += bin.Polls
		}
		if sum != whole {
			rt.Fatalf("the reliability is of %v polls, and %v were learnt from", sum, whole)
		}
	})
}

// A page with a clock differs at every poll until its noise is recognized. From then on it has
// the rate of a page that was never seen to change; one whose changes were not all noise keeps its own.
func TestNoiseIsNoChange(t *testing.T) {
	rateAfter := func(early func(poll int) freshet.Result, quiet freshet.Quiet) float64 {
		l := learn.New(learn.Config{Start: monday, Tick: time.Minute, Polls: 1})
		l.Put(monday, 0, page("h", 0), monday)
		for poll := range 60 {
			o := freshet.Outcome{Began: monday.Add(time.Duration(poll+1) * time.Minute)}
			if o.Ended = o.Began; poll < 8 {
				o.Result = early(poll)
			} else {
				o.Result, o.Quiet = freshet.Unchanged, quiet
			}
			l.Observe(time.Time{}, 0, o)
		}
		if got := l.Tally(0); quiet == freshet.QuietNoise && early(1) == freshet.Changed && got.Captured != 0 {
			t.Errorf("%v changes are captured, want 0", got.Captured)
		}
		return l.RateOf(0)
	}
	always := func(int) freshet.Result { return freshet.Changed }
	never := func(int) freshet.Result { return freshet.Unchanged }
	sometimes := func(poll int) freshet.Result { return []freshet.Result{freshet.Changed, freshet.Unchanged}[poll%2] }
	clock, still := rateAfter(always, freshet.QuietNoise), rateAfter(never, "")
	if clock > 2*still {
		t.Errorf("after its noise is recognized a page changes %v times a tick, want about %v, as one that never changed", clock, still)
	}
	if got, want := rateAfter(sometimes, freshet.QuietNoise), rateAfter(sometimes, ""); got != want {
		t.Errorf("a page that was quiet between its changes changes %v times a tick, want %v", got, want)
	}
}
