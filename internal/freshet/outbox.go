package freshet

import (
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
