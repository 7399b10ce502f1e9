package store

import (
	"context"
	"net/http"
	"time"

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
	steady, fresh := packHeader(h, "")
	return append(steady, fresh...)
}

// UnpackHeader reads what PackHeader wrote.
func UnpackHeader(b []byte, h http.Header) error { return unpackHeader(b, h) }

// A Queue lets tests gather work as the store does.
type Queue = queue

// A Job is one caller's part of a batch.
type Job = job

// NewQueue returns a queue that performs batches of at most so many jobs.
func NewQueue(most int, linger time.Duration, perform func([]Job) []error) *Queue {
	return &queue{most: most, linger: linger, perform: perform}
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

// A SourceIndex lets tests ask for lists of sources that are in no database.
type SourceIndex struct {
	store   sourceMemory
	entries map[freshet.SourceID]*entry
}

// NewSourceIndex returns an index without sources.
func NewSourceIndex() *SourceIndex {
	return &SourceIndex{store: sourceMemory{sourceIndex: newSourceIndex()}, entries: map[freshet.SourceID]*entry{}}
}

// Add enters a source.
func (r *SourceIndex) Add(src freshet.Source) {
	e := &entry{id: src.ID, row: indexRowOf(src, 0, 0, nil)}
	r.entries[src.ID] = e
	r.store.sourceIndex.insert(e)
}

// Edit replaces what is said of a source.
func (r *SourceIndex) Edit(src freshet.Source) {
	e := r.entries[src.ID]
	e.row = indexRowOf(src, 0, 0, nil)
	r.store.sourceIndex.update(e)
}

// Poll counts polls of a source.
func (r *SourceIndex) Poll(id freshet.SourceID, polls int64) {
	e := r.entries[id]
	e.polls += polls
	r.store.sourceIndex.update(e)
}

// Remove strikes a source.
func (r *SourceIndex) Remove(id freshet.SourceID) { r.store.sourceIndex.remove(r.entries[id]) }

// List returns the IDs of a list.
func (r *SourceIndex) List(ctx context.Context, q freshet.SourceQuery) (ids []freshet.SourceID, err error) {
	err = r.store.withList(ctx, listKey{q.SourceFilter, q.By}, func(sourceIndex *sourceIndex, k *sortedList) { _, ids = k.part(sourceIndex, q) })
	return ids, err
}

// ListAnew is List with nothing kept.
func (r *SourceIndex) ListAnew(ctx context.Context, q freshet.SourceQuery) ([]freshet.SourceID, error) {
	before := r.store.sourceIndex.lists.all
	r.store.sourceIndex.lists.all = map[listKey]*sortedList{}
	defer func() { r.store.sourceIndex.lists.all = before }()
	return r.List(ctx, q)
}

// Kept returns how many lists are kept, and of how many lines together.
func (r *SourceIndex) Kept() (lists, lines int) {
	for _, k := range r.store.sourceIndex.lists.all {
		lists, lines = lists+1, lines+len(k.places)
	}
	return lists, lines
}

// A StateCache lets tests keep states of sources, as texts, as the store does.
type StateCache struct{ cache stateCache }

// NewStateCache returns a cache of so many bytes.
func NewStateCache(bytes int64) *StateCache { return &StateCache{newStateCache(bytes)} }

// Get returns a state, "" if there is none, and what Add needs if it is not known.
func (c *StateCache) Get(source int64) (state string, known bool, when int) {
	s, known, when := c.cache.get(stateOf{"state", source})
	return string(s.value), known, when
}

// Add adds a state as it was read.
func (c *StateCache) Add(source int64, state string, when int) {
	c.cache.add(stateOf{"state", source}, keptState{value: []byte(state), there: state != ""}, when)
}

// Write takes over a state that was written.
func (c *StateCache) Write(source int64, state string) {
	c.cache.written([]newState{{stateOf{"state", source}, keptState{value: []byte(state), there: true}}})
}

// Room returns how many bytes are left.
func (c *StateCache) Room() int64 { return c.cache.room }
