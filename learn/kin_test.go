package learn_test

import (
	"fmt"
	"testing"
	"time"

	"freshet"
	"freshet/learn"
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
		return w.Outlook(end.Add(time.Hour), slot).Rate.Mean * time.Hour.Seconds()
	}
	onBusy, onSlow := rate(page("busy", 99)), rate(page("slow", 99))
	ticker, law := rate(page("new", 0, "prices")), rate(page("new2", 0, "statutes"))
	plain := rate(page("new3", 0))
	t.Logf("changes an hour: on a busy site %.3f, on a slow one %.3f; tagged like the busy %.3f, like the slow %.3f; with neither %.3f", onBusy, onSlow, ticker, law, plain)
	if onBusy < 5*onSlow {
		t.Errorf("a new page of a busy site is expected to change %.3f times an hour, and one of a slow site %.3f times", onBusy, onSlow)
	}
	if ticker < 5*law {
		t.Errorf("a new source with the tag of the busy is expected to change %.3f times an hour, and one with that of the slow %.3f times", ticker, law)
	}
	if plain > max(onBusy, ticker) || plain < min(onSlow, law) {
		t.Errorf("a new source that shares nothing is expected to change %.3f times an hour, outside of what all do", plain)
	}
	if truth := (busy + slow) / 2 * time.Hour.Seconds(); plain < truth/2 || plain > 2*truth {
		t.Errorf("a new source that shares nothing is expected to change %.3f times an hour, and all on average %.3f times", plain, truth)
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
