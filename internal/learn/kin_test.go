package learn_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// page returns a source of a site.
func page(site string, n int, tags ...string) freshet.Source {
	return freshet.Source{URL: fmt.Sprintf("https://%s.example/%d", site, n), Tags: tags}
}

// All pages of some sites change together. A change that is found on one of them
// is evidence for those that were last seen before it, and for no others.
func TestCoChange(t *testing.T) {
	const sites, pages = 6, 5
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 4}, 1)
	end := monday.Add(30 * day)
	for s := range sites {
		together := w.poisson(monday, end, 1/(12*time.Hour).Seconds())
		for p := range pages {
			changes := make([]time.Time, len(together))
			copy(changes, together)
			w.add(page(fmt.Sprint("site", s), p), changes)
		}
	}
	w.pollAtRandom(end, 80*time.Minute, nil)

	// A quiet hour, in which everything is seen, and then a change of all pages
	// of the first site.
	all := func(at time.Time) {
		for slot := range w.sources {
			w.poll(freshet.Slot(slot), at)
		}
	}
	for i := range 6 {
		all(end.Add(time.Duration(10*i) * time.Minute))
	}
	quiet := end.Add(time.Hour)
	w.poll(1, quiet.Add(55*time.Minute)) // one sibling is looked at just before, and one well after
	for p := range pages {
		w.changes[p] = append(w.changes[p], quiet.Add(58*time.Minute))
	}
	now := quiet.Add(61 * time.Minute)
	before := make([]float64, len(w.sources))
	w.Expected(now, before, make([]float64, len(before)))
	if !w.poll(0, now) {
		t.Fatal("the first page has changed, and the poll did not see it")
	}
	later := now.Add(10 * time.Minute)
	w.poll(2, later) // has changed too
	asked := later.Add(time.Minute)
	after := make([]float64, len(w.sources))
	w.Expected(asked, after, make([]float64, len(after)))
	t.Logf("expected: before %.3v, after %.3v", before[:6], after[:6])
	for slot := 3; slot < pages; slot++ {
		if after[slot] < 2*before[slot] {
			t.Errorf("page %d was last seen before its siblings changed; %.3f changes are expected, and %.3f were before that was known", slot, after[slot], before[slot])
		}
	}
	if after[2] > before[3] || after[2] > after[3]/5 {
		t.Errorf("page 2 was seen after the change, and yet %.3f changes are expected of it, and %.3f of one that was not", after[2], after[3])
	}
	for slot := pages; slot < len(after); slot++ {
		if after[slot] > 3*before[slot] {
			t.Errorf("page %d is of another site; %.3f changes are expected, and %.3f were before", slot, after[slot], before[slot])
		}
	}
}

// Of a source that is new, others stand in: those of its site, those with its
// tags, and all.
func TestColdStart(t *testing.T) {
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 5}, 2)
	end := monday.Add(20 * day)
	busy, slow := 1/time.Hour.Seconds(), 1/(4*day).Seconds()
	for i := range 10 {
		w.add(page("busy", i), w.poisson(monday, end, busy))
		w.add(page("slow", i), w.poisson(monday, end, slow))
		w.add(page(fmt.Sprint("ticker", i), 0, "prices"), w.poisson(monday, end, busy))
		w.add(page(fmt.Sprint("law", i), 0, "statutes"), w.poisson(monday, end, slow))
	}
	w.pollAtRandom(end, 2*time.Hour, nil)
	rate := func(s freshet.Source) float64 {
		slot := freshet.Slot(len(w.sources))
		s.ID = "new"
		w.Put(end, slot, s, end)
		defer w.Remove(slot)
		return w.Outlook(end.Add(time.Hour), slot).Now.Mean * time.Hour.Seconds()
	}
	onBusy, onSlow := rate(page("busy", 99)), rate(page("slow", 99))
	ticker, law := rate(page("new", 0, "prices")), rate(page("new2", 0, "statutes"))
	plain := rate(page("new3", 0))
	t.Logf("changes an hour: on a busy site %.3f, on a slow one %.3f; tagged like the busy %.3f, like the slow %.3f; with neither %.3f", onBusy, onSlow, ticker, law, plain)
	// What ten kin do counts for ten, and what all do for three.
	kin := func(rate float64) float64 { return (10*rate*time.Hour.Seconds() + 3*plain) / 13 }
	truth := (busy + slow) / 2 * time.Hour.Seconds()
	for _, c := range []struct {
		what              string
		got, want, within float64
	}{
		{"page of a busy site", onBusy, kin(busy), 1.2},
		{"page of a slow site", onSlow, kin(slow), 1.2},
		{"source with the tag of the busy", ticker, kin(busy), 1.2},
		{"source with the tag of the slow", law, kin(slow), 1.2},
		{"source that shares nothing", plain, truth, 1.35}, // what is thought of each is wider than what each does
	} {
		if c.got < c.want/c.within || c.got > c.want*c.within {
			t.Errorf("a new %s is expected to change %.3f times an hour, want %.3f", c.what, c.got, c.want)
		}
	}
}

// The slot of a source that was removed is used again, and nothing of it sticks
// to the new one.
func TestSlotsKeepNothing(t *testing.T) {
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 1}, 3)
	end := monday.Add(10 * day)
	for range 8 {
		w.add(freshet.Source{}, w.poisson(monday, end, 1/(6*time.Hour).Seconds()))
	}
	frantic := w.add(freshet.Source{}, w.poisson(monday, end, 1/(10*time.Minute).Seconds()))
	w.pollAtRandom(end, time.Hour, nil)
	w.Remove(frantic)
	used, unused := frantic, freshet.Slot(len(w.sources))
	for _, slot := range []freshet.Slot{used, unused} {
		w.Put(end, slot, freshet.Source{ID: freshet.SourceID(fmt.Sprint("new", slot)), URL: fmt.Sprintf("https://new%d.example", slot)}, end)
	}
	at := end.Add(3 * time.Hour)
	expected := make([]float64, unused+1)
	w.Expected(at, expected, make([]float64, len(expected)))
	if expected[used] != expected[unused] {
		t.Errorf("%v changes are expected of a new source in a slot that was used, and %v in one that was not", expected[used], expected[unused])
	}
	if a, b := w.Outlook(at, used), w.Outlook(at, unused); a != b {
		t.Errorf("a new source in a used slot has the outlook\n%+v, and in an unused one\n%+v", a, b)
	}
}

// Before any poll, half of the polls are expected to find a change: a source is
// taken to change once while it would be polled twice if all were treated alike.
func TestPriorFollowsTheBudget(t *testing.T) {
	for _, c := range []struct {
		sources int
		polls   float64 // a tick
	}{{10, 1}, {100, 1}, {100, 20}, {1000, 5}} {
		w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: c.polls}, 1)
		for range c.sources {
			w.add(freshet.Source{}, nil)
		}
		r := w.Outlook(monday, 0).Now
		want := c.polls / (2 * float64(c.sources)) / (10 * time.Minute).Seconds()
		t.Logf("%d sources, %g polls: %.3f of what half of the polls would find (%.3f to %.3f)", c.sources, c.polls, r.Mean/want, r.Low/want, r.High/want)
		// The rate is taken to be exponentially distributed, of which one in
		// twenty is below 0.051 and one above 3.0 of the mean, and a little wider. The mean is never outside of the range.
		if low, high := r.Low/want, r.High/want; low < 0.035 || low > 0.055 || high < 2.9 || high > 4.2 {
			t.Errorf("%d sources, %g polls: a rate from %.3f to %.3f of what half of the polls would find, want about 0.05 to 3", c.sources, c.polls, low, high)
		}
	}
}
