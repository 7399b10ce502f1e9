package learn_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// pollInTurn polls pages, each on a host of its own, one an hour, round and round.
// Changed says whether a page has changed since the turn before.
func pollInTurn(pages, turns int, changed func(page, turn int) bool) *learn.Learner {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 1})
	for i := range pages {
		l.Put(monday, freshet.Slot(i), page(string(rune('a'+i)), i), monday)
	}
	for n := range turns * pages {
		o := same(float64(n) + 0.5)
		if changed(n%pages, n/pages) {
			o = found(float64(n) + 0.5)
		}
		o.Cursor = freshet.Cursor(n + 1)
		l.Observe(time.Time{}, freshet.Slot(n%pages), o)
	}
	return l
}

// Where those that have changed are no likelier to change again than others, what
// sets a source apart counts for little; where some change and others do not, it
// counts.
func TestCreditIsEarned(t *testing.T) {
	const pages, turns = 20, 30
	// Every page changes in every third turn: to have changed last is to be quiet next.
	alike := pollInTurn(pages, turns, func(page, turn int) bool { return (page+turn)%3 == 0 })
	differ := pollInTurn(pages, turns, func(page, turn int) bool { return page%4 == 0 })
	spread := func(l *learn.Learner) float64 { // of what is expected of the pages, with credit, next to without
		least, most := 1e9, 0.0
		for slot := range freshet.Slot(pages) {
			least, most = min(least, l.Credit(slot)), max(most, l.Credit(slot))
		}
		return most / least
	}
	expected, gaps, credits := make([]float64, pages), make([]float64, pages), make([]float64, pages)
	chosen := func(l *learn.Learner) { // sets what is expected when polls are given out
		l.Likely(hours(pages*turns+1), 0, expected, gaps, credits)
		for slot := range expected {
			expected[slot] *= credits[slot]
		}
	}
	chosen(alike)
	for slot := range expected {
		perTick := expected[slot] / gaps[slot]
		if mean := expected[0] / gaps[0]; perTick > 2*mean || perTick < mean/2 {
			t.Errorf("pages are alike, and of page %d %.4f changes a tick are expected next to %.4f", slot, perTick, mean)
		}
	}
	chosen(differ)
	if busy, quiet := expected[0]/gaps[0], expected[1]/gaps[1]; busy < 10*quiet {
		t.Errorf("a page that changes in every turn is expected to change %.4f times a tick, and one that never does %.4f", busy, quiet)
	}
	t.Logf("credit differs by a factor of %.2f where pages are alike, and of %.2f where they differ", spread(alike), spread(differ))
}
