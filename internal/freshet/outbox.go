package freshet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// A Stream is a log that a sink can follow.
type Stream int

// The streams.
const (
	StreamChanges Stream = iota // all changes
	StreamParcels               // what queries tell: matches, and digests of them
)

// An Entry names an entry of a stream.
type Entry struct {
	Stream Stream
	Cursor Cursor
}

// Entry returns the place of the change in the stream of changes.
func (c Change) Entry() Entry { return Entry{StreamChanges, c.Cursor} }

// Entry returns the place of the parcel in the stream of parcels.
func (p Parcel) Entry() Entry { return Entry{StreamParcels, p.Cursor} }

// An Outbox keeps what named readers have been sent. A reader follows one stream at a
// time. It advances over it, owing a delivery for each entry it wants, and settles each
// debt when the delivery has been accepted. What it owes of one stream stays owed when it
// goes on with another.
type Outbox interface {
	// Place returns the stream that a reader follows and how far it has read, or
	// ErrNotFound if it has not begun: it has never advanced.
	Place(ctx context.Context, reader string) (Entry, error)

	// Advance moves a reader's place and records the deliveries it now owes of
	// that stream, in one step. The first Advance begins the reader, wherever it goes, to
	// zero too. Moving back is allowed and owes again: what is still owed after the new
	// place waits until the reader has come by, and keeps its message.
	Advance(ctx context.Context, reader string, to Entry, owed []Message) error

	// Debts returns up to limit debts of a reader that are due and not after its place,
	// the longest due first, and when the next one after them is due (zero if none).
	Debts(ctx context.Context, reader string, now time.Time, limit int) ([]Debt, time.Time, error)

	// Settle removes debts that have been delivered.
	Settle(ctx context.Context, reader string, at ...Entry) error

	// Letters returns up to limit debts of a reader that were given up, of what comes
	// after an entry, in the order of the streams: changes come first.
	Letters(ctx context.Context, reader string, after Entry, limit int) ([]Debt, error)

	// Revive makes debts that were given up due at once, as if they had never been
	// tried; without entries it does so with all. It returns how many there were.
	Revive(ctx context.Context, reader string, at ...Entry) (int, error)

	// Postpone puts a debt off after a failed attempt. A zero Due gives it up:
	// it stays on record but is not returned by Debts again.
	Postpone(ctx context.Context, reader string, d Debt) error

	// ShiftDebts moves when a reader's debts are due, but for those that are due
	// at once: the clock that they were reckoned by was set.
	ShiftDebts(ctx context.Context, reader string, by time.Duration) error

	// Owed counts a reader's open debts and those given up.
	Owed(ctx context.Context, reader string) (open, dead int, err error)

	// Retire records that an endpoint of a reader wants no more deliveries, and
	// gives up all debts of the reader with err as the reason, in one step.
	Retire(ctx context.Context, reader string, endpoint EndpointID, err string) error

	// Retired reports whether an endpoint of a reader wants no more deliveries.
	Retired(ctx context.Context, reader string, endpoint EndpointID) (bool, error)

	// Accounts returns how it stands with all readers, or with one if it is named, by name.
	// Those of which nothing is on record are left out. What it costs grows with the
	// readers and what they owe, not with a query for each.
	Accounts(ctx context.Context, reader string) ([]Account, error)
}

// An Account is how it stands with a reader of an Outbox.
type Account struct {
	Reader string
	Begun  bool  // it has a place
	At     Entry // its place

	// Told is where that is for those outside: in the log of changes or, if the reader
	// follows parcels, in the log of matches. There it is the end of the last parcel up to
	// its place that is kept, and zero if none is.
	Told Place

	Open, Dead int          // debts, and those given up
	Retired    []EndpointID // which want no more deliveries
}

// An EndpointID names where a reader sends its deliveries. It is a digest,
// because a URL can hold a secret that must not be kept.
type EndpointID string

// EndpointAt returns the name of the endpoint with a URL.
func EndpointAt(url string) EndpointID {
	sum := sha256.Sum256([]byte(url))
	return EndpointID(hex.EncodeToString(sum[:16]))
}

// A Message is what a reader owes of an entry, as it is to be sent on every attempt.
type Message struct {
	Cursor Cursor // of the entry
	Body   []byte // nil leaves it to each attempt

	// Event is the ID under which a parcel is told, and Source whose matches it has, if
	// they are of one source. They are kept, because a query can be removed before all is
	// delivered that it told. A change has its own.
	Event  string
	Source SourceID

	// InOrder has the debt wait until the reader owes nothing of the source, or of the
	// query, any more that comes before it. Those that were given up hold up nothing.
	InOrder bool

	Err string // why it cannot be sent; it is given up from the beginning
}

// A Debt is a delivery that a reader owes: of a change or of a parcel.
type Debt struct {
	Change Change
	Parcel Parcel   // only Cursor and Query are set if the query was removed
	Event  string   // of its Message
	Source SourceID // likewise; that of the change

	Body     []byte    // of its Message
	Attempts int       // made so far
	Due      time.Time // of the next one
	Err      string    // of the last one
}

// Entry returns what the debt is of.
func (d Debt) Entry() Entry {
	if d.Parcel.Cursor > 0 {
		return d.Parcel.Entry()
	}
	return d.Change.Entry()
}

// ID returns the ID under which the delivery is made.
func (d Debt) ID() string {
	if d.Event != "" {
		return d.Event
	}
	return d.Change.ID()
}
