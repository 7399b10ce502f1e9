package runner

import (
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// A State is how it stands with a query that is run.
type State struct {
	Behind  bool          // it catches up with the others
	Waiting int64         // matches that are not told yet
	For     queries.Delay // what they wait for
	Until   time.Time     // when that ends; zero if time alone does not end it
}

// states are how it stands with queries, for others to see while they run.
type states struct {
	mu   sync.Mutex
	by   map[queries.ID]State
	upto place // all queries have run, and what they matched is kept
}

// Upto returns the places in the log of changes and in that of outcomes up to which all
// queries have run, and what they matched is stored.
func (r *Runner) Upto() (changes, outcomes freshet.Cursor) {
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	return r.states.upto.changes, r.states.upto.outcomes
}

// showUpto lets others see how far all queries are. Without a query that hears of polls they
// are at the end of the log of outcomes, wherever that is.
func (r *Runner) showUpto() {
	upto := place{}
	if upto.changes, upto.outcomes = r.main.engine.Upto(); !r.main.engine.HearsPolls() {
		upto.outcomes = endless
	}
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	r.states.upto = upto
}

// Standing returns how it stands with a query. It reports false if the query is not run.
func (r *Runner) Standing(id queries.ID) (State, bool) {
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	s, ok := r.states.by[id]
	return s, ok
}

// show lets others see how it stands with a query by now.
func (r *Runner) show(id queries.ID) {
	pace, known := r.paces[id]
	var s State
	if known {
		s.Waiting, s.For = pace.Waiting()
		s.Until, _ = pace.Due()
		s.Behind = r.behind[id] != nil
	}
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	if r.states.by == nil {
		r.states.by = map[queries.ID]State{}
	}
	if known {
		r.states.by[id] = s
	} else {
		delete(r.states.by, id)
	}
}
