package synth

import (
	"time"

	"freshet/internal/freshet"
)

// A Capture is a captured version. [VersionIn] tells the
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

// UniformRival returns how a poller would have fared at to that began at from
// and has since polled page after page in the order of their IDs, one every so
// often, round and round, whatever the pages do. Its polls take no time and are
// polite to nobody; a page in trouble shows it nothing.
func (w *Web) UniformRival(every time.Duration, from, to time.Time) Score {
	var s Score
	every = max(every, time.Nanosecond)
	round := every * time.Duration(len(w.pages))
	for i, p := range w.pages {
		first := from.Add(time.Duration(i) * every)
		for _, c := range p.changes(from, to) {
			s.add(c, w.firstLook(p, c, pollAt(first, round, c.at), round, to), to)
		}
	}
	return s
}

// pollAt returns the first poll at or after t of a page that is polled at
// first and once every round from then on.
func pollAt(first time.Time, round time.Duration, t time.Time) time.Time {
	if !t.After(first) {
		return first
	}
	rounds := (t.Sub(first) + round - 1) / round
	return first.Add(rounds * round)
}

// firstLook returns the first of the polls from poll on that shows the change
// before the next one covers it, or zero if there is none up to a moment.
func (w *Web) firstLook(p *page, c change, poll time.Time, round time.Duration, to time.Time) time.Time {
	for ; !poll.After(to) && (c.next.IsZero() || poll.Before(c.next)); poll = poll.Add(round) {
		if !p.Trouble.at(poll.Sub(w.start)) {
			return poll
		}
	}
	return time.Time{}
}
