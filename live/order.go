package live

import (
	"maps"
	"slices"
	"sync"

	"freshet"
)

// An order lets outcomes through in the order of the log, although the polls
// that they come of end side by side: what is learnt from them must not depend
// on who was told first, or the log could not teach the same again.
//
// The log has no gaps that stay, but a commit whose outcome is not told leaves
// one here. So an outcome also waits no longer than for the commits that were
// under way when its own had returned: a later one cannot come before it in the
// log.
type order struct {
	mu    sync.Mutex
	last  freshet.Cursor     // let through
	turns int64              // commits begun so far
	open  map[int64]struct{} // those of them that have not ended
	held  map[freshet.Cursor]held
}

// A held outcome waits for its turn.
type held struct {
	outcome freshet.Outcome
	after   int64 // the last commit that could still come before it
}

// reset begins after a place in the log.
func (o *order) reset(last freshet.Cursor) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.open, o.held = last, map[int64]struct{}{}, map[freshet.Cursor]held{}
}

// begin notes that a commit is about to be made.
func (o *order) begin() (turn int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turns++
	o.open[o.turns] = struct{}{}
	return o.turns
}

// end notes that a commit is over, with the outcome as it is in the log or nil
// if it is not there, and lets through what need not wait any more.
func (o *order) end(turn int64, stored *freshet.Outcome, through func(freshet.Outcome)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, turn)
	if stored != nil {
		o.held[stored.Cursor] = held{*stored, o.turns}
	}
	for len(o.held) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(o.held)))
		h := o.held[first]
		if first > o.last+1 && o.underWay(h.after) {
			return
		}
		delete(o.held, first)
		o.last = max(o.last, first)
		through(h.outcome)
	}
}

// underWay reports whether a commit up to a turn has not ended.
func (o *order) underWay(turn int64) bool {
	for open := range o.open {
		if open <= turn {
			return true
		}
	}
	return false
}
