package synth

import (
	"math/rand/v2"
	"sort"
	"sync"
	"time"
)

// A Schedule says when a page changes.
type Schedule interface {
	// Follow returns a function that gives one moment of change after
	// another, all after start and each later than the one before, and the
	// zero time when there are no more. Chance is the page's own: the same
	// seed gives the same moments.
	Follow(start time.Time, chance *rand.Rand) func() time.Time
}

// A history is what a schedule has come to, worked out as far as somebody has
// asked. The moments known only ever grow, so a prefix may be shared.
type history struct {
	mu    sync.Mutex
	next  func() time.Time
	known []time.Time
	over  bool
}

func newHistory(s Schedule, start time.Time, chance *rand.Rand) *history {
	return &history{next: s.Follow(start, chance), known: make([]time.Time, 0, 16)}
}

// reach works the history out until it holds a moment after t, or all there
// are, and returns it with the number of moments at or before t.
func (h *history) reach(t time.Time) (known []time.Time, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.over && (len(h.known) == 0 || !h.known[len(h.known)-1].After(t)) {
		h.grow()
	}
	n = sort.Search(len(h.known), func(i int) bool { return h.known[i].After(t) })
	return h.known, n
}

// nth returns the moment of the nth change, counted from 0.
func (h *history) nth(n int) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.over && len(h.known) <= n {
		h.grow()
	}
	if n < 0 || n >= len(h.known) {
		return time.Time{}, false
	}
	return h.known[n], true
}

// grow adds one moment. Two changes at the same moment would be one, so a
// schedule that stands still is pushed on.
func (h *history) grow() {
	t := h.next()
	if t.IsZero() {
		h.over = true
		return
	}
	if n := len(h.known); n > 0 && !t.After(h.known[n-1]) {
		t = h.known[n-1].Add(time.Millisecond)
	}
	h.known = append(h.known, t)
}

func noMore() time.Time { return time.Time{} }
