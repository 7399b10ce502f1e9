package learn_test

import (
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A tick in which three changes were seen and one was due is twice as busy as
// usual, where what is usual counts for one: (1 + 3) / (1 + 1).
func TestActivityOfATick(t *testing.T) {
	var a learn.Activity
	for _, tick := range []int64{-5, 0, 1000} {
		a.Add(tick, 1, 0.75)
		a.Add(tick, 2, 0.25)
	}
	for _, c := range []struct {
		tick              int64
		prior, grip, want float64
	}{
		{0, 1, 1, 2},
		{-5, 1, 1, 2},
		{1000, 1, 1, 2},
		{0, 2, 0.1, 3.2 / 1.1},
		{1, 1, 1, 1},
		{1, 2.5, 0.1, 2.5},
	} {
		if got := a.Ratio(c.tick, c.prior, c.grip); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("tick %d has the ratio %v under a prior of %v that counts for %v, want %v", c.tick, got, c.prior, c.grip, c.want)
		}
	}
	a.Open(learn.Span) // takes the place of tick 0
	if got := a.Ratio(learn.Span, 1, 1); got != 1 {
		t.Errorf("a tick that was just opened has the ratio %v, want 1", got)
	}
	if got := a.Ratio(-5, 1, 1); got != 2 {
		t.Errorf("opening a tick made the ratio of another %v, want 2", got)
	}
}

// site is a learner of six pages of a site, all seen on Monday and then polled
// after ten ticks: page 0 last.
func site(t *testing.T, others, last freshet.Result) *learn.Learner {
	t.Helper()
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.06})
	for i := range 6 {
		l.Put(monday, freshet.Slot(i), page("site", i), monday)
	}
	at := hours(10)
	for slot := freshet.Slot(1); slot < 6; slot++ {
		l.Observe(time.Time{}, slot, freshet.Outcome{Began: at, Ended: at, Result: others})
	}
	l.Observe(time.Time{}, 0, freshet.Outcome{Began: at, Ended: at, Result: last})
	return l
}

// A change says less of a page when all of its site changed, and no change says
// more: the site explains it away.
func TestSiteExplainsChangesAway(t *testing.T) {
	for last, most := range map[freshet.Result]float64{freshet.Changed: 0.8, freshet.Unchanged: 0.95} {
		busy, quiet := site(t, freshet.Changed, last).RateOf(0), site(t, freshet.Unchanged, last).RateOf(0)
		if busy > most*quiet {
			t.Errorf("%v: the rate of a page is %.5f a tick where its whole site changed, and %.5f where nothing did; want %v of that at most", last, busy, quiet, most)
		}
	}
}

// What was found on a site bears on its pages that were not polled since, and a
// page that was is expected to do what it always does.
func TestSiblingsShareActivity(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.06})
	for i := range 6 {
		l.Put(monday, freshet.Slot(i), page("site", i), monday)
	}
	l.Put(monday, 6, page("elsewhere", 6), monday)
	for slot := freshet.Slot(1); slot < 5; slot++ { // 0, 5 and 6 are not polled
		l.Observe(time.Time{}, slot, freshet.Outcome{Began: hours(10), Ended: hours(10), Result: freshet.Changed})
	}
	sibling, stranger := l.Outlook(hours(10), 5), l.Outlook(hours(10), 6)
	if sibling.Expected < 1.2*stranger.Expected {
		t.Errorf("%.4f changes are expected of a page whose site changed, and %.4f of one elsewhere", sibling.Expected, stranger.Expected)
	}
	if a, b := l.Outlook(hours(10), 0).Expected, sibling.Expected; a != b {
		t.Errorf("%v and %v changes are expected of two pages of a site that are alike", a, b)
	}
	if stranger.Now != sibling.Now {
		t.Errorf("what goes on now moved the rate of a page that was not polled from %+v to %+v", stranger.Now, sibling.Now)
	}
}
