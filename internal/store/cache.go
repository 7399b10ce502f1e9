package store

import (
	"container/list"
	"sync"

	"freshet/internal/freshet"
)

// A cachedBody is a body with its place in the bodies table.
type cachedBody struct {
	id    int64
	depth int64
	hash  freshet.Hash // if it is known to be that of the body
	body  []byte
}

// A bodyCache holds the bodies used last, up to a number of bytes. The newest
// version of a source is read when the next one is compared with it and once
// more when that is encoded against it, so it pays to keep it; the one before
// is dropped when it is superseded.
type bodyCache struct {
	mu    sync.Mutex
	room  int64
	order *list.List // of cachedBody, the last used first
	by    map[int64]*list.Element
}

func newBodyCache(bytes int64) *bodyCache {
	return &bodyCache{room: bytes, order: list.New(), by: map[int64]*list.Element{}}
}

// get returns the body, which must not be changed.
func (c *bodyCache) get(id int64) (cachedBody, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.by[id]
	if !ok {
		return cachedBody{}, false
	}
	c.order.MoveToFront(el)
	return el.Value.(cachedBody), true
}

// put adds a body, which must not be changed afterwards.
func (c *bodyCache) put(b cachedBody) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(b.id)
	c.by[b.id] = c.order.PushFront(b)
	for c.room -= cost(b); c.room < 0; {
		c.remove(c.order.Back().Value.(cachedBody).id)
	}
}

// drop forgets a body.
func (c *bodyCache) drop(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
}

func (c *bodyCache) remove(id int64) {
	if el, ok := c.by[id]; ok {
		c.room += cost(c.order.Remove(el).(cachedBody))
		delete(c.by, id)
	}
}

// cost is what a body takes of the cache.
func cost(b cachedBody) int64 { return int64(cap(b.body)) + 200 }
