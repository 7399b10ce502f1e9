package freshet

import (
	"fmt"
	"time"
)

// A QueryStep is what a step in running queries brought.
type QueryStep struct {
	Notes   []QueryNote
	Matches []Match
	Parcels []Parcel
}

// A QueryNote is something that is remembered to run queries.
type QueryNote struct {
	Query QueryID // "" if it belongs to all of them together
	Name  string
	Body  []byte // nil forgets it
}

// A MatchQuery selects part of the log of matches.
type MatchQuery struct {
	Query  QueryID // only its matches; "" means those of all queries
	After  Cursor
	Newest bool // the newest first
	Limit  int  // 0 means no limit

	// Only those of the query with numbers from First, and up to Last unless that is zero.
	First, Last int64
}

// A Parcel is the matches of a query that are told together: those with the numbers from
// From to To. Parcels of a query follow each other without a gap, so that nothing that was
// held back is lost.
type Parcel struct {
	Cursor   Cursor // place in the log of all parcels; zero until stored
	Query    QueryID
	Name     string // of the query when they are told
	From, To int64
	End      Place     // of the last match in the log of matches; zero until stored
	Hold     Hold      // what they waited for last
	At       time.Time // when they are told
}

// Count returns how many matches it has.
func (p Parcel) Count() int64 { return p.To - p.From + 1 }

// ID returns the name under which the parcel is delivered: that of its match, or such as
// "cheap.3-7~k3f9q2xw" if it has several.
func (p Parcel) ID() string {
	name := fmt.Sprintf("%s.%d", p.Query, p.From)
	if p.To > p.From {
		name = fmt.Sprintf("%s-%d", name, p.To)
	}
	return p.End.Epoch.name(name)
}

// A Hold is why matches were not told at once.
type Hold string

// Why matches wait.
const (
	HoldNone   Hold = ""       // they did not
	HoldDigest Hold = "digest" // they are told together
	HoldQuiet  Hold = "quiet"  // it was in quiet hours
	HoldRate   Hold = "rate"   // enough had been told
)
