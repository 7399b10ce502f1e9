package sinks

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// A Stream is a log that a sink can follow.
type Stream int

// The streams.
const (
	StreamChanges Stream = iota // all changes
	StreamBatches               // batches of matches of queries
)

// A Position is a position in a stream.
type Position struct {
	Stream Stream
	Cursor freshet.Cursor
}

// PositionOf returns the position of a change.
func PositionOf(c freshet.Change) Position { return Position{StreamChanges, c.Cursor} }

// A ReaderStatus is how far a reader of the outbox is.
type ReaderStatus struct {
	Reader string
	Begun  bool // it has a position
	At     Position

	// Place is the position as the API gives it: in the log of changes or, if the reader follows
	// batches, in the log of matches. There it is the end of the last batch up to the position that
	// is stored, and zero if there is none.
	Place freshet.Place

	Pending, Dead int          // deliveries
	Retired       []EndpointID // which want no more deliveries
}

// An EndpointID names where a reader sends its deliveries. It is a digest, because a URL can hold a
// secret, which must not be stored.
type EndpointID string

// EndpointAt returns the name of the endpoint with a URL.
func EndpointAt(url string) EndpointID {
	sum := sha256.Sum256([]byte(url))
	return EndpointID(hex.EncodeToString(sum[:16]))
}

// A NewDelivery is a delivery that a reader adds to the outbox.
type NewDelivery struct {
	Cursor freshet.Cursor // in the reader's stream
	Body   []byte         // as it is sent on every attempt; nil leaves it to each attempt

	// Event is the ID of a batch, and Source that of its matches, if they are of one source. They
	// are stored, because a query can be removed before its batches are delivered. A change has
	// its own.
	Event  string
	Source freshet.SourceID

	// InOrder makes the delivery wait until all earlier ones of the same source, or of the same
	// query, are made or dead.
	InOrder bool

	Err string // why it cannot be sent; it is dead from the beginning
}

// A PendingDelivery is a delivery in the outbox, of a change or of a batch.
type PendingDelivery struct {
	Change freshet.Change
	Batch  queries.Batch    // only Cursor and Query are set if the query was removed
	Event  string           // of its NewDelivery
	Source freshet.SourceID // likewise; that of the change

	Body     []byte    // of its NewDelivery
	Attempts int       // made so far
	Due      time.Time // of the next one
	Err      string    // of the last one
}

// Position returns the position of the change or the batch.
func (d PendingDelivery) Position() Position {
	if d.Batch.Cursor > 0 {
		return Position{StreamBatches, d.Batch.Cursor}
	}
	return PositionOf(d.Change)
}

// ID returns the ID under which the delivery is made.
func (d PendingDelivery) ID() string {
	if d.Event != "" {
		return d.Event
	}
	return d.Change.ID()
}
