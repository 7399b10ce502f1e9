package tables

import (
	"net/http"

	"freshet"
)

// A Codec lets tests encode bodies as the store does.
type Codec struct{ codec codec }

// Encode returns the frame of a body, and whether it stands alone.
func (c *Codec) Encode(body, base []byte) (frame []byte, alone bool, err error) {
	return c.codec.encode(body, base)
}

// Decode returns the body of a frame.
func (c *Codec) Decode(frame, base []byte, size int64) ([]byte, error) {
	return c.codec.decode(frame, base, size)
}

// PackHeader packs a header as the store does.
func PackHeader(h http.Header) []byte {
	steady, fresh := packHeader(h)
	return append(steady, fresh...)
}

// UnpackHeader reads what PackHeader wrote.
func UnpackHeader(b []byte, h http.Header) error { return unpackHeader(b, h) }

// A Queue lets tests gather work as the store does.
type Queue = queue

// A Job is one caller's part of a batch.
type Job = job

// NewQueue returns a queue that performs batches of at most so many jobs.
func NewQueue(most int, perform func([]Job) []error) *Queue {
	return &queue{most: most, perform: perform}
}

// Do performs a job in a batch.
var Do = (*queue).do

// A Batch is what a job works on.
type Batch = batch

// Tail gives tests the end of the log in memory.
type Tail struct{ tail }

// Add appends outcomes.
func (t *Tail) Add(logged ...freshet.Outcome) { t.add(logged) }

// After returns outcomes after a place.
func (t *Tail) After(place freshet.Cursor, limit int) ([]freshet.Outcome, bool) {
	return t.after(place, limit)
}

// Say returns what an outcome says, as it is stored.
func Say(o freshet.Outcome) []byte { return encodeSaid(&o) }

// Unsay reads what Say returned; nothing is read of nothing.
func Unsay(said []byte) (o freshet.Outcome, err error) {
	if said != nil {
		err = decodeSaid(said, &o)
	}
	return o, err
}
