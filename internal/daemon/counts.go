package daemon

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"freshet/internal/freshet"
)

// A counts counts the sources. While a start loads them, edits go on, and it is
// not known which of those the start has seen: these sources are looked at one by
// one when it is done.
type counts struct {
	counting gate // passed by edits until they are counted, and alone to begin and end a count
	sources  atomic.Int64

	mu     sync.Mutex
	edited map[freshet.SourceID]bool // since a count began; nil if none is under way
}

// edit makes an edit, and counts the source that it adds or removes.
func (c *counts) edit(by int64, edit func() (freshet.SourceID, error)) error {
	defer c.counting.pass(1)()
	id, err := edit()
	if err == nil {
		c.add(id, by)
	}
	return err
}

// add counts a source that was added or removed.
func (c *counts) add(id freshet.SourceID, by int64) {
	c.sources.Add(by)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.edited != nil {
		c.edited[id] = true
	}
}

// purge purges a source, which may not be watched any more.
func (c *counts) purge(ctx context.Context, store freshet.Catalog, id freshet.SourceID) error {
	defer c.counting.pass(alone)()
	_, err := store.Source(ctx, id)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	watched := err == nil
	if err := store.RemoveSource(ctx, id, true); err != nil {
		return err
	}
	if watched {
		c.add(id, -1)
	}
	return nil
}

// begin begins a count.
func (c *counts) begin() {
	defer c.counting.pass(alone)()
	c.edited = map[freshet.SourceID]bool{}
}

// end ends a count that has found so many sources, and knows whether one was
// among them.
func (c *counts) end(ctx context.Context, store freshet.Catalog, found int, has func(freshet.SourceID) bool) error {
	defer c.counting.pass(alone)()
	defer func() { c.edited = nil }()
	n := int64(found)
	for id := range c.edited {
		_, err := store.Source(ctx, id)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return err
		}
		switch is := err == nil; {
		case is && !has(id):
			n++
		case !is && has(id):
			n--
		}
	}
	c.sources.Store(n)
	return nil
}

// purges are the sources that are being purged. The leader waits for the outcome of every
// poll that it has decided on, and would keep the poll's place in the budget for ever if
// the outcome were deleted before the leader has read it. So a purge begins when the leader has
// read all that is on record, and a poll that ends meanwhile reports to the leader itself.
type purges struct {
	mu     sync.Mutex
	ids    map[freshet.SourceID]int
	ending gate // passed by polls from before they are recorded until they have looked here
}

// begin notes that sources are being purged, and end that they have been.
func (p *purges) begin(ids []freshet.SourceID) { p.count(ids, 1) }

func (p *purges) end(ids []freshet.SourceID) {
	p.ending.pass(alone)() // polls recorded before have looked
	p.count(ids, -1)
}

func (p *purges) count(ids []freshet.SourceID, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids = map[freshet.SourceID]int{}
	}
	for _, id := range ids {
		if p.ids[id] += by; p.ids[id] == 0 {
			delete(p.ids, id)
		}
	}
}

// has reports whether a source is being purged.
func (p *purges) has(id freshet.SourceID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[id] > 0
}

// A gate is a read-write lock. Waiting for it blocks on a channel, so that in a test the time of
// a synctest bubble advances while the holder waits for the disk; at a mutex it would not.
type gate struct{ *semaphore.Weighted }

// alone is the weight of one who passes alone.
const alone = 1 << 30

func newGate() gate { return gate{semaphore.NewWeighted(alone)} }

// pass returns when there is room for so much, and how to give it back.
func (g gate) pass(weight int64) (leave func()) {
	_ = g.Acquire(context.Background(), weight) // it fails only with its context
	return func() { g.Release(weight) }
}
