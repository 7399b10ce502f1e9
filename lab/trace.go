package lab

import (
	"slices"
	"time"

	"freshet"
)

// A Trace is a history of change: what each source did, and when. A source
// holds one version at a time; each change replaces it.
type Trace struct {
	Start, End time.Time
	Sources    []freshet.Source

	// Changes are the moments at which each source changed, in order.
	Changes map[freshet.SourceID][]time.Time

	// Latency is how long a poll takes. It sees the source as it was when the
	// poll began.
	Latency time.Duration

	// Answer, if set, has the last word on how a poll ended: a trace with
	// failures, or with hosts that ask to be left alone.
	Answer func(p freshet.Poll, o *freshet.Outcome)

	// Edits are sources that come and go, and limits that change, in order.
	Edits []Edit
}

// versionAt returns how many versions a source has had at t, the one it began
// with included.
func (t *Trace) versionAt(id freshet.SourceID, at time.Time) int {
	changes := t.Changes[id]
	n, _ := slices.BinarySearchFunc(changes, at, func(c, at time.Time) int {
		if c.After(at) {
			return 1
		}
		return -1
	})
	return n + 1
}
