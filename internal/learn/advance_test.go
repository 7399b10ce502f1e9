package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// The budget is what was polled of late: every tick it goes by 1/256 to what was
// polled in it. A silence of more than 128 ticks is none of it.
func TestPaceFollowsThePolls(t *testing.T) {
	for _, c := range []struct {
		ticks int
		polls int // in every tick but the last
		want  float64
	}{
		{1, 1, 100},
		{1, 3, 100 + 2*100.0/256},
		{60, 1, 100},
		{60, 2, 100 * (2 - math.Pow(255.0/256, 60))},
		{128, 0, 100 * math.Pow(255.0/256, 128)},
		{129, 0, 100},
		{100_000, 0, 100},
	} {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 1})
		for slot := range freshet.Slot(100) {
			l.Put(monday, slot, page(fmt.Sprint("h", slot), 0), monday)
		}
		begin := freshet.Outcome{Began: monday, Ended: monday, Result: freshet.First} // which is not of the budget
		l.Observe(time.Time{}, 0, begin)
		for tick := range min(c.ticks, c.ticks*c.polls) {
			for i := range c.polls {
				at := hours(float64(tick) + 0.5)
				l.Observe(time.Time{}, freshet.Slot(i), freshet.Outcome{Began: at, Ended: at, Result: freshet.Failed})
			}
		}
		l.Observe(time.Time{}, 0, freshet.Outcome{Began: hours(float64(c.ticks)), Ended: hours(float64(c.ticks)), Result: freshet.Failed})
		if got := 1e4 / l.FullPass(); math.Abs(got/c.want-1) > 1e-9 {
			t.Errorf("after %d ticks with %d polls in each, %v polls are made in a hundred ticks, want %v", c.ticks, c.polls, got, c.want)
		}
	}
}

// What a tally counts is worth half after the time set, a quarter after twice
// that, and so on, for as long as one likes.
func TestHalfLifeOfATally(t *testing.T) {
	for _, halves := range []float64{0, 1, 2, 3.5, 31, 33, 70, 5000} {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 1, Memory: 10 * time.Hour})
		for slot := range freshet.Slot(2) {
			l.Put(monday, slot, page(fmt.Sprint("h", slot), 0), monday)
		}
		l.Observe(time.Time{}, 0, same(50))
		at := 50 + 10*halves
		for h := 60.0; h <= at && halves < 100; h += 10 { // step by step where it is not far
			l.Observe(time.Time{}, 1, same(h))
		}
		l.Observe(time.Time{}, 1, freshet.Outcome{Began: hours(at), Ended: hours(at), Result: freshet.Failed})
		got, want := l.Tally(0), math.Exp2(-halves)
		if math.Abs(got.Polls-want) > 1e-5*want || math.Abs(got.Watched-want*50*3600) > 1e-5*want*50*3600 {
			t.Errorf("after %v half-lives a poll counts for %v and its time for %v hours, want %v and %v", halves, got.Polls, got.Watched/3600, want, 50*want)
		}
		l.Observe(time.Time{}, 0, same(at+1))
		if got := l.Tally(0).Polls; math.Abs(got-(1+math.Exp2(-halves-0.1))) > 0.08 {
			t.Errorf("after %v half-lives another poll makes it %v", halves, got)
		}
	}
}

// After a silence, what was going on before it bears on nothing any more, and
// the sources have waited for as long as it was.
func TestSilence(t *testing.T) {
	pages := func(result freshet.Result) *learn.Learner {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.08})
		for i := range 8 {
			l.Put(monday, freshet.Slot(i), page("site", i), monday)
		}
		l.Put(monday, 8, page("elsewhere", 0), monday)
		for slot := freshet.Slot(1); slot < 8; slot++ {
			l.Observe(time.Time{}, slot, freshet.Outcome{Began: hours(10), Ended: hours(10), Result: result})
		}
		return l
	}
	for _, silence := range []float64{120, 135, 5000} {
		l := pages(freshet.Changed)
		at := 10 + silence
		l.Observe(time.Time{}, 8, freshet.Outcome{Began: hours(at), Ended: hours(at), Result: freshet.Failed})
		expected, gaps := make([]float64, 9), make([]float64, 9)
		l.Expected(hours(at), expected, gaps)
		if gaps[0] != at || gaps[1] != silence {
			t.Errorf("after %v ticks of silence pages have waited %v and %v ticks, want %v and %v", silence, gaps[0], gaps[1], at, silence)
		}
		busy := l.Outlook(hours(at), 0).Expected / (rateOfTheWeek(l, at) * at)
		if forgotten := math.Abs(busy-1) < 0.05; forgotten != (silence > 128) {
			t.Errorf("after %v ticks of silence %.3f times as many changes are expected as by the rate alone", silence, busy)
		}
	}
}

// After a silence nothing of what was going on before it is taken to have gone on
// in the meantime.
func TestSilenceIsSilent(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.08})
	for slot := range freshet.Slot(8) {
		l.Put(monday, slot, page(fmt.Sprint("h", slot), 0), monday)
		l.Observe(time.Time{}, slot, found(10))
	}
	const busy = 10 + 4*learn.Span // remembered where that hour was
	l.Observe(time.Time{}, 0, freshet.Outcome{Ended: hours(busy + 20), Result: freshet.Failed})
	l.Put(hours(busy+20), 8, page("new", 0), hours(busy-20))
	l.Put(hours(busy+20), 9, page("newer", 0), hours(busy+10))
	long, short := l.Outlook(hours(busy+20), 8).Expected, l.Outlook(hours(busy+20), 9).Expected
	if math.Abs(long/short-4) > 1e-6 {
		t.Errorf("%v times as many changes are expected in 40 quiet hours as in 10, want 4", long/short)
	}
}

// rateOfTheWeek returns the rate of the first page, in changes a tick, on average
// over all hours of a week.
func rateOfTheWeek(l *learn.Learner, from float64) (mean float64) {
	for h := range 7 * 24 {
		mean += l.Outlook(hours(from+float64(h)), 0).Now.Mean * 3600 / (7 * 24)
	}
	return mean
}

// A clock that is set back does not touch what was counted, and the sources have
// been seen no later than now.
func TestClockSetBack(t *testing.T) {
	for _, back := range []float64{5, 100, 500, 600, 20_000} {
		w := busyWorld(21, time.Hour, 900)
		last := w.log[len(w.log)-1]
		before := w.Tally(3)
		now := last.Ended.Add(-time.Duration(back) * time.Hour)
		w.Observe(time.Time{}, 11, freshet.Outcome{Began: now, Ended: now, Result: freshet.Failed})
		after := w.Tally(3)
		if math.Abs(after.Polls/before.Polls-1) > 1e-5 || math.Abs(after.Watched/before.Watched-1) > 1e-5 {
			t.Errorf("set back by %v ticks: the tally goes from\n%+v to\n%+v", back, before, after)
		}
		const later = 40
		expected, gaps := make([]float64, 12), make([]float64, 12)
		w.Expected(now.Add(later*time.Hour), expected, gaps)
		if back > learn.Window { // it begins again
			for slot, gap := range gaps {
				if gap < later-1 || !(expected[slot] > 0) {
					t.Errorf("set back by %v ticks: %d ticks later slot %d has waited for %v, and %v changes are expected", back, later, slot, gap, expected[slot])
				}
			}
		}
		at := now.Add(later * time.Hour) // and it learns again from there
		for slot := range freshet.Slot(12) {
			w.Observe(time.Time{}, slot, freshet.Outcome{Began: at, Ended: at})
			w.Observe(time.Time{}, slot, freshet.Outcome{Began: at.Add(time.Hour), Ended: at.Add(time.Hour)})
		}
		if got := w.Tally(3).Polls; got < before.Polls*0.9+0.99 {
			t.Errorf("set back by %v ticks: of two polls after it none is counted, with %v polls before and %v after", back, before.Polls, got)
		}
		sane(t, w.Learner, at.Add(2*time.Hour), 12)
	}
}

// Sources have profiles of their own where a turn is shorter than a day, and
// keep them until it is longer than two: then they are given up.
func TestOwnProfilesFollowTheTurn(t *testing.T) {
	const own = 3 * learn.Bins * 4 // bytes of a profile that is saved
	size := func(polls float64) int {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: polls})
		l.Put(monday, 0, page("h", 0), monday)
		l.Put(monday, 1, page("h", 1), monday) // with which the site is not kept
		l.Observe(time.Time{}, 1, same(1))
		l.Observe(time.Time{}, 1, same(2))
		return len(saved(t, l)[1])
	}
	slow := size(2.0 / 25)
	if quick := size(2.0 / 23); quick != slow+own {
		t.Errorf("with a turn of 23 hours a source takes %d bytes and with one of 25 hours %d, want %d more", quick, slow, own)
	}
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 2.0 / 23})
	for slot := range freshet.Slot(2) {
		l.Put(monday, slot, page("h", int(slot)), monday)
	}
	for hour := 2.0; hour < 800; hour += 120 { // a poll now and then: the turn grows
		l.Observe(time.Time{}, 1, same(hour))
		has := len(saved(t, l)[1]) == slow+own
		if turn := l.FullPass(); has != (turn < 48) {
			t.Fatalf("hour %v, with a turn of %.1f hours: a profile of its own is %v", hour, turn, has)
		}
	}
	if l.FullPass() < 50 {
		t.Fatalf("the turn is %.1f hours at the end, want more than two days", l.FullPass())
	}
}

// Priors are renewed once a sweep has gone through all sources, a few at every
// tick. Those that nobody has seen are left out.
func TestPriorsAreRenewedBySweeps(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.03})
	for slot := range freshet.Slot(4) {
		since := monday
		if slot == 3 {
			since = time.Time{}
		}
		l.Put(monday, slot, page(fmt.Sprint("h", slot), 0), since)
	}
	rates := learn.NewClock(monday, time.Hour).Grid()
	first := learn.NewPrior(rates, 2*4/0.03)
	sum := make([]float64, learn.Points)
	for i, w := range first {
		sum[i] = 3 * w
	}
	second := learn.PoolPrior(sum, nil, 4)
	mean := func(prior []float64) (m float64) {
		for i, w := range prior {
			m += w * rates[i]
		}
		return m
	}
	for tick := range 6 { // one of four is looked at when a tick ends
		at := hours(float64(tick))
		l.Observe(time.Time{}, 0, freshet.Outcome{Began: at, Ended: at, Result: freshet.Failed})
		want := mean(first)
		if tick > 4 {
			want = mean(second)
		}
		if got := l.RateOf(3); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("at tick %d the rate of a source that was never seen is %v, want %v", tick, got, want)
		}
	}
}
