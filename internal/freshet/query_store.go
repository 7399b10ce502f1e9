package freshet

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// A QueryStore keeps queries, what is remembered to run them, and the log of what they
// matched.
type QueryStore interface {
	// Queries returns all queries in the order of their IDs.
	Queries(ctx context.Context) ([]Query, error)

	// Query returns one query, or ErrNotFound.
	Query(ctx context.Context, id QueryID) (Query, error)

	// AddQuery adds q and returns it as stored: with an ID made of its name if it has
	// none. If another has its ID it returns an ErrConflict. One that takes the ID of a
	// query that was removed goes on after its last number and its last revision.
	//
	// If q.From is negative, the query looks at every change that is committed after it,
	// and at none before.
	AddQuery(ctx context.Context, q Query) (Query, error)

	// UpdateQuery replaces the query with the same ID and returns it as stored, or
	// returns ErrNotFound. If q has a revision that is not the one stored, it returns a
	// *StaleError and changes nothing.
	UpdateQuery(ctx context.Context, q Query) (Query, error)

	// RemoveQuery forgets a query with its matches and notes, but not its last numbers.
	RemoveQuery(ctx context.Context, id QueryID) error

	// QueryNotes yields what is remembered, in the order of queries and names.
	QueryNotes(ctx context.Context) iter.Seq2[QueryNote, error]

	// RunQueries keeps what a step in running the queries brought, all of it or nothing.
	// What it brought for queries that are not there any more is left out. The numbers of
	// the matches of a query, and those in its parcels, must follow each other without a
	// gap.
	RunQueries(ctx context.Context, step QueryStep) error

	// Matches returns part of the log of matches, oldest first.
	Matches(ctx context.Context, q MatchQuery) ([]Match, error)

	// WaitMatch returns when there is a match after a place, or with the cause when ctx
	// is done.
	WaitMatch(ctx context.Context, after Cursor) error

	// LastMatch returns the end of the log.
	LastMatch(ctx context.Context) (Cursor, error)

	// MatchEpochs returns the epochs of the log.
	MatchEpochs(ctx context.Context) (Epochs, error)

	// Parcels returns part of the log of parcels, oldest first. Their places are those of
	// parcels, and their numbers those of their last matches.
	Parcels(ctx context.Context, q MatchQuery) ([]Parcel, error)

	// WaitParcel returns when there is a parcel after a place, or with the cause when ctx
	// is done.
	WaitParcel(ctx context.Context, after Cursor) error

	// LastParcel returns the end of the log of parcels.
	LastParcel(ctx context.Context) (Cursor, error)
}

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
