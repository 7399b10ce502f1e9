package freshet

import (
	"time"

	"freshet/internal/freshet/suspect"
)

// A Head is what a poll compares with: the newest version that is not in quarantine, and
// its validators. The store returns it when a poll begins, so that the worker needs no
// other state.
type Head struct {
	Number     int    // of the version; zero if there is none
	Hash       Hash   // of its text
	Recipe     string // Key of the recipe it was read with
	Validators Validators
	Asked      time.Time // last request without validators; zero if never
	Sums       Sums
	Moved      Moved
	Suspect    suspect.Class // as in the Outcome of the last poll that saw the source
	Landed     string        // likewise
	Polls      int64         // of the source so far
	Held       Held          // the capture in quarantine
}

// A Moved is the new URL of a source, to which permanent redirects lead.
type Moved struct {
	URL string    // "" if the source has not moved
	At  time.Time // when the old URL last said so
}

// Sums are fast hashes of the last body of a source and of its text. An equal body is
// recognized by them without extraction. They need not survive a restart.
type Sums struct {
	Known      bool // false means that Body and Text are unset
	Body, Text uint64
	Fresh      time.Duration // freshness that the body declares
}
