package live

import (
	"sync"
	"time"

	"freshet"
)

// A head is what a poll compares with: the newest version of a source and what
// the server gave us to ask after it with. At most one poll of a source is
// under way, so whoever polls may change it without a lock.
type head struct {
	number     int
	hash       freshet.Hash
	recipe     string
	validators freshet.Validators

	// Fast hashes of the last body and text, so that an equal one is known
	// without reading it or naming it. Not kept across a restart.
	known             bool
	bodySum, textSum  uint64
	unconditionallyAt time.Time // when the source was last asked for without validators
}

// heads are all sources' heads.
type heads struct {
	mu *sync.Mutex
	of map[freshet.SourceID]*head
}

func newHeads() heads { return heads{new(sync.Mutex), map[freshet.SourceID]*head{}} }

// get returns a source's head, which the poll that got it may change.
func (h heads) get(id freshet.SourceID) *head {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of[id] == nil {
		h.of[id] = &head{}
	}
	return h.of[id]
}

// set takes a head from the store.
func (h heads) set(w freshet.Watched) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[w.ID] = &head{
		number:            w.Standing.Head.Number,
		hash:              w.Standing.Head.Hash,
		recipe:            w.Standing.Recipe,
		validators:        w.Standing.Validators,
		unconditionallyAt: w.Standing.Head.SeenAt,
	}
}

// drop forgets a removed source.
func (h heads) drop(id freshet.SourceID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, id)
}

// has reports whether a source's head is known here.
func (h heads) has(id freshet.SourceID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[id] != nil
}
