package learn_test

import (
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
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
	list := func(rate, dates, quiet float64) float64 { // of which each date counts less than one alone
		return math.Pow(math.Pow(change(rate, 1), dates)*math.Exp(-quiet*rate), 0.7) * math.Pow(change(rate, 10), 0.3)
	}
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
		{"a list back to before the last poll", listed(found(10), 8.5, 4.5, 2.5, -0.5), func(r float64) float64 { return list(r, 3, 7) }},
		{"a list that is too short", listed(found(10), 8.5, 4.5, 2.5), func(r float64) float64 { return list(r, 3, 5) }},
		{"a list with two of an hour", listed(found(10), 8.75, 8.5, 4.5), func(r float64) float64 { return list(r, 2, 4) }},
		{"a list that is as before", listed(same(10), -0.5), func(r float64) float64 { return math.Exp(-10 * r) }},
		{"a list of before the last poll", listed(found(10), -0.5), func(r float64) float64 { return change(r, 10) }},
	} {
		if _, got := told(c.poll); math.Abs(got/meanOf(c.want)-1) > 1e-5 {
			t.Errorf("%s: the rate is %v a tick, want %v", c.what, got, meanOf(c.want))
		}
	}
}

// past takes in that there was a change in a tick and then none for so many, as dates
// tell: the rate may have been drawn again after it.
func (m *plainMind) past(quiet, turns float64) {
	const redrawn = 0.01
	mixed := func(q []float64, stays float64) []float64 {
		q = normal(q)
		for i := range q {
			q[i] = stays*q[i] + (1-stays)*m.prior[i]
		}
		return q
	}
	for k, keep := range []float64{0.995, 0.9} {
		q := make([]float64, len(m.rates))
		for i, rate := range m.rates {
			known := m.evidence[k][i] + math.Log(-math.Expm1(-rate))
			q[i] = m.prior[i] * math.Exp(known*math.Pow(keep, 0.7+0.3*turns))
		}
		for i, w := range mixed(q, 1-redrawn) {
			m.evidence[k][i] = math.Log(w/m.prior[i]) - m.rates[i]*quiet
		}
	}
	for i, rate := range m.rates {
		m.switching[i] *= -math.Expm1(-rate)
	}
	m.switching = mixed(m.switching, (1-redrawn)*math.Exp(-1.5*turns))
	for i, rate := range m.rates {
		m.switching[i] *= math.Exp(-rate * quiet)
	}
	m.switching = normal(m.switching)
}

// listed adds the hours at which a source says that it changed.
func listed(o freshet.Outcome, hour ...float64) freshet.Outcome {
	for _, h := range hour {
		o.Dates = append(o.Dates, hours(h))
	}
	return o
}

// A first look tells nothing, unless the source says when it changed before: then it
// did so in those hours, and not in between.
func TestFirstLookAtADatedSource(t *testing.T) {
	look := freshet.Outcome{Began: hours(10), Ended: hours(10), Result: freshet.First}
	for _, c := range []struct {
		what  string
		poll  freshet.Outcome
		quiet []float64 // after each change, the oldest first
	}{
		{"no date", look, nil},
		{"a hundred hours ago", dated(look, -90), []float64{99}},
		{"two hours ago", dated(look, 8), []float64{1}},
		{"within the hour", dated(look, 9.5), nil},
		{"in the future", dated(look, 30), nil},
		{"a list", listed(look, 5.5, -10, -89.5), []float64{79, 14, 4}},
		{"a list with its newest once more", dated(listed(look, 5.5, -10, -89.5), 5.5), []float64{79, 14, 4}},
		{"a list in disorder", listed(look, -10, 5.5, -89.5), []float64{79, 14, 4}},
		{"a list that begins in the future", listed(look, 300, 5.5, -10, -89.5), []float64{79, 14, 4}},
		{"two of an hour", listed(look, 5.75, 5.25), []float64{4}},
		{"hour after hour", listed(look, 9.5, 8.5, 7.5), []float64{0, 0, 0}},
		{"more than are read", listed(look, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), []float64{0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
		l.Put(monday, 0, freshet.Source{ID: "s", URL: "https://h.example/"}, time.Time{})
		l.Observe(time.Time{}, 0, c.poll)
		plain := alonePlain()
		for _, quiet := range c.quiet {
			plain.past(quiet, (quiet+1)*0.01)
		}
		if got, want := l.RateOf(0), plain.mean(); math.Abs(got/want-1) > 1e-5 {
			t.Errorf("%s: the rate is %v a tick, want %v", c.what, got, want)
		}
		if tally := l.Tally(0); tally != (outlook.Tally{}) {
			t.Errorf("%s: a first look is in the tally: %+v", c.what, tally)
		}
	}
}

// A source that changed often, and then not for long, is thought to be about as slow as
// one that changed once then.
func TestSilenceAfterABurst(t *testing.T) {
	rate := func(dates ...float64) float64 {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
		l.Put(monday, 0, freshet.Source{ID: "s", URL: "https://h.example/"}, time.Time{})
		l.Observe(time.Time{}, 0, listed(freshet.Outcome{Began: hours(5000), Ended: hours(5000), Result: freshet.First}, dates...))
		return l.RateOf(0)
	}
	burst, once := rate(0, -1, -2, -3, -4), rate(0)
	if burst > 1.2*once {
		t.Errorf("after five changes and 5000 quiet hours the rate is %v an hour, and %v after one", burst, once)
	}
	if steady := rate(4000, 3000, 2000, 1000, 0); steady < 2*once {
		t.Errorf("where changes have come all the time the rate is %v an hour, and %v after one", steady, once)
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
	rate := alonePlain().typical()
	l, _ := told(dated(found(10), 4.25))
	before := -4 * math.Expm1(-rate) // in the hours ahead of that of the change, one in each at most
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

// Where several changes are dated, the tally knows which were missed, and how long the
// copy had been old.
func TestTallyOfAList(t *testing.T) {
	rate := alonePlain().typical()
	before := rate * 2                  // the hours ahead of the oldest, where the list is too short
	apart := -2 * math.Expm1(-before/2) // one in each hour at most
	first := func(x float64) float64 { return -math.Expm1(-rate * x) }
	hidden := integral(2, first)
	aged := integral(2, func(x float64) float64 { return (2 - x) * first(x) })
	append := objective.Visibility{Kind: objective.VisibleForever}
	last := objective.Visibility{Kind: objective.VisibleLast, N: 2}
	for _, c := range []struct {
		what string
		life objective.Visibility
		poll freshet.Outcome
		want outlook.Tally // in hours
	}{
		{"all", objective.Visibility{}, listed(found(10), 8.25, 4.25, 2.25, -0.5), outlook.Tally{
			Captured: 1, Happened: 3, Shown: 2, Delay: 1.5, Stale: 7.5, Age: 7.5 * 7.5 / 2,
		}},
		{"not all", objective.Visibility{}, listed(found(10), 8.25, 4.25, 2.25), outlook.Tally{
			Captured: 1, Happened: 3 + apart, Variance: apart, Shown: 2, Delay: 1.5,
			Stale: 7.5 + hidden*1.25, Age: 7.5*7.5/2 + 7.5*hidden*1.25 + aged*1.25*1.25, // the half hour before the oldest is taken for one of the two
		}},
		{"all of a log", append, listed(found(10), 8.25, 4.25, 2.25, -0.5), outlook.Tally{
			Captured: 3, Happened: 3, Delay: 1.5 + 5.5 + 7.5, Stale: 7.5, Age: 7.5 * 7.5 / 2,
		}},
		{"the last two", last, listed(found(10), 8.25, 4.25, 2.25, -0.5), outlook.Tally{
			Captured: 2, Happened: 3, Shown: 1, Delay: 1.5 + 5.5, Stale: 7.5, Age: 7.5 * 7.5 / 2,
		}},
	} {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
		l.Put(monday, 0, freshet.Source{ID: "s", URL: "https://h.example/", Life: c.life}, monday)
		l.Observe(time.Time{}, 0, c.poll)
		got := l.Tally(0)
		for _, n := range []struct {
			what      string
			got, want float64
		}{
			{"number captured", got.Captured, c.want.Captured}, {"number of changes", got.Happened, c.want.Happened},
			{"variance of it", got.Variance, c.want.Variance}, {"number known to be missed", got.Shown, c.want.Shown},
			{"delay", got.Delay, c.want.Delay * 3600}, {"time that it was old", got.Stale, c.want.Stale * 3600},
			{"age", got.Age, c.want.Age * 3600 * 3600}, {"time watched", got.Watched, 36000},
		} {
			if math.Abs(n.got-n.want) > 1e-4*n.want+1e-6 {
				t.Errorf("%s: the %s is %v, want %v", c.what, n.what, n.got, n.want)
			}
		}
	}
}

// Changes that are known to have been missed stay missed, however evenly the source is
// seen to change.
func TestRhythmLeavesDatesAlone(t *testing.T) {
	var polls []freshet.Outcome
	for i := range 40 {
		at := float64(4*i + 4)
		if i%2 == 0 {
			polls = append(polls, same(at))
		} else {
			polls = append(polls, listed(found(at), at-1.5, at-2.5, at-100))
		}
	}
	l, _ := told(polls...)
	if got := l.Tally(0); math.Abs(got.Happened/got.Captured-2) > 0.01 {
		t.Errorf("of %.2f changes %.2f are said to be captured, want half of them", got.Happened, got.Captured)
	}
}

// A change of a page whose whole site has changed says less about the page, also where
// it is dated: others that are not shown may have come before it. Where dates tell of
// all changes there were, what other pages did adds nothing.
func TestDatesOnASiteThatChanges(t *testing.T) {
	rate := func(others freshet.Result, poll freshet.Outcome) float64 {
		w := newWorld(learn.Config{Tick: time.Hour, Polls: 1}, 1)
		for i := range 20 {
			w.add(page("site", i), nil)
		}
		for i := range 19 {
			at := 10 + float64(i)/100
			w.Observe(time.Time{}, freshet.Slot(i+1), freshet.Outcome{Began: hours(at), Ended: hours(at), Result: others})
		}
		w.Observe(time.Time{}, 0, poll)
		return w.RateOf(0)
	}
	for _, c := range []struct {
		what string
		poll freshet.Outcome
		less bool
	}{
		{"the newest", dated(found(10.5), 4.5), true},
		{"a list that is too short", listed(found(10.5), 6.5, 4.5), true},
		{"all", listed(found(10.5), 4.5, -0.5), false},
	} {
		calm, busy := rate(freshet.Unchanged, c.poll), rate(freshet.Changed, c.poll)
		if less := busy < 0.9*calm; less != c.less {
			t.Errorf("%s dated: the rate is %v a tick on a site that changes and %v on one that does not; that it is less should be %v", c.what, busy, calm, c.less)
		}
	}
}
