package wrongpage

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/units"
)

// A patience is how long a suspect capture of some class is held.
type patience struct {
	agreed int           // looks that have to agree; zero if it is never believed
	least  time.Duration // from the first of them to the last
	looks  int           // suspect looks in a row that do, too, if no two are alike
	within time.Duration // from the first of them to the last
	again  []time.Duration
}

var (
	// What is only odd is believed when it is still so minutes later.
	odd = patience{agreed: 2, least: time.Minute, looks: 4, within: 10 * time.Minute,
		again: []time.Duration{3 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute}}

	// A page without text is a fault more often than not, and faults last.
	blank = patience{agreed: 3, least: 15 * time.Minute, looks: 3, within: 15 * time.Minute,
		again: []time.Duration{3 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour}}

	// A page that says for a day that it is not there is not there.
	missing = patience{agreed: 4, least: 24 * time.Hour, looks: 6, within: 48 * time.Hour,
		again: []time.Duration{5 * time.Minute, time.Hour, 6 * time.Hour, 18 * time.Hour}}

	// What stands in the way says nothing of the page behind it, however long it
	// stands there.
	obstructed = patience{again: []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour}}
)

// of returns the patience with a class.
func of(why suspect.Class) patience {
	switch why {
	case suspect.Login, suspect.Blocked, suspect.Consent, suspect.Maintenance:
		return obstructed
	case suspect.ErrorPage:
		return missing
	case suspect.Empty:
		return blank
	}
	return odd
}

// Hides reports whether a page that is suspect by a class stands in front of the one
// that is watched, and tells nothing of it.
func Hides(why suspect.Class) bool { return of(why).agreed == 0 }

// IsWall reports whether a page that is suspect by a class is shown to us and not to
// others, whatever the page behind it is like.
func IsWall(why suspect.Class) bool {
	return why == suspect.Login || why == suspect.Blocked || why == suspect.Consent
}

// Believed reports whether looks have agreed often and long enough that what is held
// is the page now. The last of them was made at a moment.
func Believed(h freshet.Held, at time.Time) bool {
	p := of(h.Suspect)
	if p.agreed == 0 {
		return false
	}
	return h.Agreed >= p.agreed && at.Sub(h.Seen) >= p.least || h.Looks >= p.looks && at.Sub(h.Since) >= p.within
}

// LookAgain returns how soon another look is wanted at what is held; zero if whenever
// the source is polled next is soon enough.
func LookAgain(h freshet.Held) time.Duration {
	p := of(h.Suspect)
	if h.Looks < 1 || h.Looks > len(p.again) {
		return 0
	}
	return p.again[h.Looks-1]
}

// Next says for people what becomes of what is held.
func Next(h freshet.Held) string {
	p := of(h.Suspect)
	switch {
	case h.Number == 0:
		return ""
	case p.agreed == 0:
		return "it is not reported as a change, however long it lasts"
	case p.least > time.Minute:
		return fmt.Sprintf("it is reported as a change if it stays like this for %s (at least %d polls)", units.FormatDuration(p.least), p.agreed)
	}
	return "it is reported as a change if the next look agrees"
}
