package learn_test

import (
	"math"
	"testing"
	"time"

	"freshet"
	"freshet/learn"
)

// told returns a learner of one source that was told of polls, and what it
// thinks of the rate, in changes a tick.
func told(outcomes ...freshet.Outcome) (*learn.Learner, float64) {
	l := alone()
	for _, o := range outcomes {
		l.Observe(time.Time{}, 0, o)
	}
	return l, l.RateOf(0)
}

// found returns a poll at an hour that found a change.
func found(hour float64) freshet.Outcome {
	return freshet.Outcome{Began: hours(hour), Ended: hours(hour), Result: freshet.Changed}
}

// same returns a poll at an hour that found none.
func same(hour float64) freshet.Outcome {
	return freshet.Outcome{Began: hours(hour), Ended: hours(hour), Result: freshet.Unchanged}
}

// dated adds the hour at which a source says that it last changed.
func dated(o freshet.Outcome, hour float64) freshet.Outcome {
	o.Modified = hours(hour)
	return o
}

// meanOf returns the mean rate where each has a likelihood, by plain sums.
func meanOf(likelihood func(rate float64) float64) float64 {
	m := alonePlain()
	sum, whole := 0.0, 0.0
	for i, rate := range m.rates {
		w := m.prior[i] * likelihood(rate)
		sum, whole = sum+w*rate, whole+w
	}
	return sum / whole
}

// A change that is dated counts in the hour it is dated, the time after it as
// quiet, and of the time before it nothing is assumed.
func TestDatedChange(t *testing.T) {
	change := func(rate, ticks float64) float64 { return -math.Expm1(-rate * ticks) }
	for _, c := range []struct {
		what string
		poll freshet.Outcome
		want func(rate float64) float64
	}{
		{"no date", found(10), func(r float64) float64 { return change(r, 10) }},
		{"in the first hour", dated(found(10), 0.5), func(r float64) float64 { return change(r, 1) * math.Exp(-9*r) }},
		{"in the last hour", dated(found(10), 9.25), func(r float64) float64 { return change(r, 1) }},
		{"in the middle, seen within an hour", dated(found(10.5), 4), func(r float64) float64 { return change(r, 1) * math.Exp(-5.5*r) }},
		{"before it was last seen", dated(found(10), -0.5), func(r float64) float64 { return change(r, 10) }},
		{"after the poll", dated(found(10), 11), func(r float64) float64 { return change(r, 10) }},
		{"none, and dated before", dated(same(10), -0.5), func(r float64) float64 { return math.Exp(-10 * r) }},
		{"none, and dated since", dated(same(10), 5), func(r float64) float64 { return math.Exp(-10 * r) }},
	} {
		if _, got := told(c.poll); math.Abs(got/meanOf(c.want)-1) > 1e-5 {
			t.Errorf("%s: the rate is %v a tick, want %v", c.what, got, meanOf(c.want))
		}
	}
}

// A first look tells nothing, unless the source says when it last changed: then
// it did so in that hour, and not since.
func TestFirstLookAtADatedSource(t *testing.T) {
	look := freshet.Outcome{Began: hours(10), Ended: hours(10), Result: freshet.First}
	nothing := func(float64) float64 { return 1 }
	for _, c := range []struct {
		what string
		poll freshet.Outcome
		want func(rate float64) float64
	}{
		{"no date", look, nothing},
		{"a hundred hours ago", dated(look, -90), func(r float64) float64 { return -math.Expm1(-r) * math.Exp(-100*r) }},
		{"two hours ago", dated(look, 8), func(r float64) float64 { return -math.Expm1(-r) * math.Exp(-2*r) }},
		{"within the hour", dated(look, 9.5), nothing},
		{"in the future", dated(look, 30), nothing},
	} {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
		l.Put(monday, 0, freshet.Source{ID: "s", URL: "https://h.example/"}, time.Time{})
		l.Observe(time.Time{}, 0, c.poll)
		if got, want := l.RateOf(0), meanOf(c.want); math.Abs(got/want-1) > 1e-5 {
			t.Errorf("%s: the rate is %v a tick, want %v", c.what, got, want)
		}
		if tally := l.Tally(0); tally != (freshet.Tally{}) {
			t.Errorf("%s: a first look is in the tally: %+v", c.what, tally)
		}
	}
}

// A date that does not agree with a poll costs a source its trust, and one that
// does gives it back: it counts from the next poll on.
func TestTrustInDates(t *testing.T) {
	lie := dated(found(10), 30)    // it cannot have changed in the future
	agrees := dated(same(20), 5)   // and did not change between 10 and 20
	change := dated(found(30), 22) // eight hours before it was seen
	plain := []freshet.Outcome{found(10), same(20), found(30)}
	_, without := told(plain...)
	for _, c := range []struct {
		what     string
		polls    []freshet.Outcome
		believed bool
	}{
		{"at first", []freshet.Outcome{found(10), same(20), change}, true},
		{"after a lie", []freshet.Outcome{found(10), dated(same(20), 15), change}, false},
		{"after a lie and a date that agreed", []freshet.Outcome{lie, agrees, change}, true},
		{"with a lie", []freshet.Outcome{found(10), same(20), dated(found(30), 40)}, false},
	} {
		_, got := told(c.polls...)
		if moved := got != without; moved != c.believed {
			t.Errorf("%s: the rate is %v a tick, and %v without dates; believed should be %v", c.what, got, without, c.believed)
		}
	}
}

// A liar that goes back to the truth after many lies is believed again, and not
// at the first word: trust grows by a fifth of what is missing, as it fell.
func TestTrustComesBackSlowly(t *testing.T) {
	var lies []freshet.Outcome
	for i := range 10 {
		lies = append(lies, dated(same(float64(i+1)), float64(i+1)-0.25))
	}
	honest := func(n int) float64 { // polls that agree, and then a change that is dated
		polls := lies
		for i := range n {
			polls = append(polls, dated(same(float64(11+i)), 0.5))
		}
		with := append(polls[:len(polls):len(polls)], dated(found(float64(20+n)), float64(11+n)))
		without := append(polls[:len(polls):len(polls)], found(float64(20+n)))
		_, a := told(with...)
		_, b := told(without...)
		return a / b
	}
	// After ten lies trust is 0.6*0.8^10 = 0.064; n polls that agree make of it
	// 1-(1-0.064)*0.8^n, which is above a half from the third on.
	for n, believed := range map[int]bool{0: false, 1: false, 2: false, 3: true, 6: true} {
		if got := honest(n); (got != 1) != believed {
			t.Errorf("after ten lies and %d polls that agree, a dated change makes the rate %v times what it is without a date", n, got)
		}
	}
}

// Where a change is dated, the tally knows how late it was found, and counts
// what may have come before it.
func TestTallyOfADatedChange(t *testing.T) {
	rate := alonePlain().mean()
	l, _ := told(dated(found(10), 4.25))
	before := rate * 4 // the hours ahead of that of the change
	got := l.Tally(0)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"number of changes", got.Happened, 1 + before},
		{"variance of it", got.Variance, before},
		{"number captured", got.Captured, 1},
		{"delay", got.Delay, 5.5 * 3600}, // from the middle of the hour
		{"time watched", got.Watched, 36000},
	} {
		if math.Abs(c.got/c.want-1) > 1e-5 {
			t.Errorf("the %s is %v, want %v", c.what, c.got, c.want)
		}
	}
}
