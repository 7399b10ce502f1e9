package bench

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// A noteTaking takes down once what was learnt, as a daemon does to save it, and throws it
// away.
type noteTaking struct {
	learner *learn.Learner
	most    int // sources at once; 0 means that nothing is taken down
	sources int // so far

	shot  *learn.Snapshot
	after time.Time // when the next are taken down
	over  bool
	kept  []byte
}

// writes is how long a daemon takes to write what it has taken down of some sources.
const writes = 20 * time.Millisecond

// due reports whether some more are to be taken down.
func (n *noteTaking) due(now time.Time) bool {
	return n.most > 0 && !n.over && !now.Before(n.after)
}

// take takes down some more.
func (n *noteTaking) take(now time.Time, _ *sched.Scheduler) {
	if n.shot == nil {
		n.shot = n.learner.Snapshot(nil)
	}
	n.kept = make([]byte, 0, len(n.kept)*9/8) // a daemon has given away the last
	last, err := n.shot.Next(n.most, func(_ freshet.Slot, memory []byte) error {
		n.kept = append(n.kept, memory...)
		n.sources++
		return nil
	})
	n.over, n.after = last || err != nil, now.Add(writes)
}
