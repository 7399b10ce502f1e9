package lab

import (
	"fmt"
	"math"
	"strings"
	"time"

	"freshet"
)

// Evidence is how much a replayed poll shows of the truth.
type Evidence uint8

// The kinds of evidence.
const (
	// Bits: a poll shows whether the page differs from what was last seen of
	// it, and nothing else.
	Bits Evidence = iota

	// Dated: every poll also shows when the latest visible change happened,
	// as Last-Modified or the newest item of a feed does, also where the poll
	// finds nothing new. A grid knows only the instant of a change, so the
	// middle of that instant is what is shown. A page that has not changed
	// since the grid began shows when it did before that, if the history
	// reaches back so far, and the look at instant 0, which shows every page,
	// shows that date too.
	Dated
)

var evidences = [...]string{"bits", "dated"}

// String returns the evidence in a word.
func (e Evidence) String() string {
	if int(e) >= len(evidences) {
		return fmt.Sprintf("unknown(%d)", e)
	}
	return evidences[e]
}

// ParseEvidence reads what String wrote.
func ParseEvidence(s string) (Evidence, error) {
	for i, name := range evidences {
		if s == name {
			return Evidence(i), nil
		}
	}
	return 0, &freshet.InvalidError{Field: "evidence", Reason: fmt.Sprintf("unknown evidence %q; use one of %s", s, strings.Join(evidences[:], ", "))}
}

// dateOf returns the date that a page shows when so many of its changes have
// happened: the middle of the instant of the latest. Before the first it is that
// of the last one before the grid began, or zero if there was none.
func (g *Grid) dateOf(page, happened int) time.Time {
	if happened == 0 {
		if g.before == nil || g.before[page] == math.MinInt64 {
			return time.Time{}
		}
		return time.Unix(0, g.before[page]).UTC()
	}
	return g.Time(int(g.Of(page)[happened-1])).Add(-g.Instant / 2)
}
