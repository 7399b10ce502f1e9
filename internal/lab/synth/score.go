package synth

import (
	"time"

	"freshet/internal/freshet"
)

// A Capture is a version that somebody got hold of. [VersionIn] tells the
// version from the content.
type Capture struct {
	Page    freshet.SourceID
	Version int
	At      time.Time
}

// A Score says how many of the changes of a time were captured. Each change
// is in one of three states.
type Score struct {
	Changes  int           // that happened
	Captured int           // of them
	Missed   int           // superseded before anybody looked: gone for good
	Pending  int           // not captured yet, but still to be seen
	Delay    time.Duration // from change to capture, summed over the captured
}

// Recall returns which share of the changes was captured, among those that are
// decided; 1 if none is.
func (s Score) Recall() float64 {
	if s.Captured+s.Missed == 0 {
		return 1
	}
	return float64(s.Captured) / float64(s.Captured+s.Missed)
}

// MeanDelay returns how long a captured change had been there.
func (s Score) MeanDelay() time.Duration {
	if s.Captured == 0 {
		return 0
	}
	return s.Delay / time.Duration(s.Captured)
}

// A change is one step of a page: it came at a moment and lasted until the
// next, which is zero if there is none.
type change struct {
	version  int
	at, next time.Time
}

// changes returns the steps of a page in (from, to].
func (p *page) changes(from, to time.Time) []change {
	_, first := p.history.reach(from)
	known, end := p.history.reach(to)
	var changes []change
	for i := first; i < end; i++ {
		c := change{version: i + 2, at: known[i]}
		if i+1 < len(known) {
			c.next = known[i+1]
		}
		changes = append(changes, c)
	}
	return changes
}

// add counts a change that was captured at a moment, or not up to now if the
// moment is zero.
func (s *Score) add(c change, captured, now time.Time) {
	s.Changes++
	switch {
	case !captured.IsZero():
		s.Captured++
		s.Delay += max(captured.Sub(c.at), 0)
	case !c.next.IsZero() && !c.next.After(now):
		s.Missed++
	default:
		s.Pending++
	}
}

// Judge holds captures against the changes that happened in (from, to], as
// things stand at to. Captures of versions from before and of other webs are
// left out.
func (w *Web) Judge(captures []Capture, from, to time.Time) Score {
	type step struct {
		page    freshet.SourceID
		version int
	}
	first := make(map[step]time.Time, len(captures))
	for _, c := range captures {
		at, ok := first[step{c.Page, c.Version}]
		if c.At.After(to) || ok && !c.At.Before(at) {
			continue
		}
		first[step{c.Page, c.Version}] = c.At
	}
	var s Score
	for _, p := range w.pages {
		for _, c := range p.changes(from, to) {
			s.add(c, first[step{p.ID, c.version}], to)
		}
	}
	return s
}
