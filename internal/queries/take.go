package queries

import (
	"container/heap"

	"freshet/internal/freshet"
)

// Begin says that the engine goes on after these places in the logs.
func (e *Engine) Begin(changes, outcomes freshet.Cursor) {
	e.changes, e.outcomes, e.moved = changes, outcomes, true
}

// Skip says that nobody has to be told of what lies before these places. They need not be
// saved: what is told again from an earlier place means nothing to anybody.
func (e *Engine) Skip(changes, outcomes freshet.Cursor) { e.changes, e.outcomes = changes, outcomes }

// Len returns how many queries there are.
func (e *Engine) Len() int { return len(e.queries) }

// HearsPolls reports whether any query wants to hear of polls.
func (e *Engine) HearsPolls() bool {
	for _, r := range e.queries {
		if r.readsPolls() && !r.query.Paused {
			return true
		}
	}
	return false
}

// Take takes a query over from another engine, with all that it remembers there. Both
// must have been told the same.
func (e *Engine) Take(other *Engine, id ID) error {
	from := other.queries[id]
	if from == nil {
		return nil
	}
	if err := e.Put(from.query); err != nil {
		return err
	}
	r := e.queries[id]
	r.tally = from.tally
	e.numbers[id] = max(e.numbers[id], other.numbers[id])
	r.groups, r.changed = from.groups, from.changed
	from.groups = map[string]*group{}
	for _, g := range r.groups {
		g.of = r
		if g.position >= 0 {
			heap.Remove(&other.queue, g.position)
			heap.Push(&e.queue, g)
		}
	}
	other.Remove(id)
	return nil
}
