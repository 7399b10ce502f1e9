package store

import (
	"context"
	"net/http"

	"freshet/internal/freshet"
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

// A Roll lets tests ask for lists of sources that are in no database.
type Roll struct {
	store   ledger
	entries map[freshet.SourceID]*entry
}

// NewRoll returns a roll without sources.
func NewRoll() *Roll {
	return &Roll{store: ledger{roll: newRoll()}, entries: map[freshet.SourceID]*entry{}}
}

// Add enters a source.
func (r *Roll) Add(src freshet.Source) {
	e := &entry{id: src.ID, face: faceOf(src, 0, 0, nil)}
	r.entries[src.ID] = e
	r.store.roll.enter(e)
}

// Edit replaces what is said of a source.
func (r *Roll) Edit(src freshet.Source) {
	e := r.entries[src.ID]
	e.face = faceOf(src, 0, 0, nil)
	r.store.roll.note(e)
}

// Poll counts polls of a source.
func (r *Roll) Poll(id freshet.SourceID, polls int64) {
	e := r.entries[id]
	e.polls += polls
	r.store.roll.note(e)
}

// Remove strikes a source.
func (r *Roll) Remove(id freshet.SourceID) { r.store.roll.strike(r.entries[id]) }

// List returns the IDs of a list.
func (r *Roll) List(ctx context.Context, q freshet.SourceQuery) (ids []freshet.SourceID, err error) {
	err = r.store.inOrder(ctx, keptKey{q.SourceFilter, q.By}, func(roll *roll, k *kept) { _, ids = k.part(roll, q) })
	return ids, err
}

// ListAnew is List with nothing kept.
func (r *Roll) ListAnew(ctx context.Context, q freshet.SourceQuery) ([]freshet.SourceID, error) {
	before := r.store.roll.orders.all
	r.store.roll.orders.all = map[keptKey]*kept{}
	defer func() { r.store.roll.orders.all = before }()
	return r.List(ctx, q)
}

// Kept returns how many lists are kept, and of how many lines together.
func (r *Roll) Kept() (lists, lines int) {
	for _, k := range r.store.roll.orders.all {
		lists, lines = lists+1, lines+len(k.places)
	}
	return lists, lines
}
