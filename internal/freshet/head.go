package freshet

import (
	"time"

	"freshet/internal/freshet/suspect"
)

// A Head is what a poll of a source compares with: its newest version that is not
// held, and what the server gave us to ask after it with. The record gives it out when the poll
// begins, so that whoever polls needs no other state.
type Head struct {
	Number     int    // of the version; zero if there is none
	Hash       Hash   // of its text
	Recipe     string // Key of the recipe it was read with
	Validators Validators
	Asked      time.Time // when the source was last asked for without validators; zero if never
	Sums       Sums
	Moved      Moved
	Suspect    suspect.Class // as in the Outcome of the last poll that saw the source
	Landed     string        // likewise
	Polls      int64         // of the source so far, as in its Standing
	Held       Held          // what was captured since and is not told yet
}

// A Moved says that a source has a new URL: permanent redirects lead there.
type Moved struct {
	URL string    // "" if the source has not moved
	At  time.Time // when the old URL last said so
}

// Sums are fast hashes of the last body of a source and of the text in it. By
// them an equal one is known without reading it. They need not survive a restart.
type Sums struct {
	Known      bool // false means that Body and Text say nothing
	Body, Text uint64
	Fresh      time.Duration // for how long the body says that it stays as it is
}
