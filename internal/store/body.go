package store

import (
	"bytes"
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

const (
	// deepest is how many bodies may have to be decoded before another one.
	// The next is then encoded alone.
	deepest = 50

	// chainBytes bounds the work of reaching a body in the same way.
	chainBytes = 64 << 20
)

// bodies are the texts, responses and pictures of versions, each encoded against another.
type bodies struct {
	rows     *reader
	database Database
	name     string // of the database
	cache    *bodyCache
	codec    codec
}

// A link is a row of the bodies table.
type link struct {
	id, sum, size, base, depth int64
	frame                      []byte
}

const selectLink = "SELECT id, sum, size, base, depth, frame FROM bodies WHERE id = ?"

const selectChain = `WITH RECURSIVE chain (id, sum, size, base, depth, frame) AS (
		SELECT id, sum, size, base, depth, frame FROM bodies WHERE id = ?
		UNION ALL
		SELECT b.id, b.sum, b.size, b.base, b.depth, b.frame FROM chain c JOIN bodies b ON b.id = c.base WHERE c.base <> ?
	) SELECT id, sum, size, base, depth, frame FROM chain`

// body returns a body, which must not be changed.
func (s *bodies) body(ctx context.Context, id int64) (cachedBody, error) {
	if b, ok := s.cache.get(id); ok {
		return b, nil
	}
	chain, err := s.links(ctx, selectLink, id)
	if err != nil {
		return cachedBody{}, err
	}
	var base cachedBody // of one version after the other, the base is the one before
	if len(chain) > 0 && chain[0].base != 0 {
		var ok bool
		if base, ok = s.cache.get(chain[0].base); !ok {
			if chain, err = s.chain(ctx, id, 0); err != nil {
				return cachedBody{}, err
			}
		}
	}
	b, err := s.unchain(id, chain, base)
	if err != nil {
		return cachedBody{}, err
	}
	s.cache.put(b)
	return b, nil
}

// chain returns a body and those that it is encoded against, one after the other, up to one that is known.
func (s *bodies) chain(ctx context.Context, id, known int64) ([]link, error) {
	return s.links(ctx, selectChain, id, known)
}

// links returns the bodies that a query finds.
func (s *bodies) links(ctx context.Context, query string, args ...any) (chain []link, err error) {
	err = EachRow(ctx, s.rows, query, args, func(scan func(...any) error) error {
		var l link
		err := scan(&l.id, &l.sum, &l.size, &l.base, &l.depth, &l.frame)
		chain = append(chain, l)
		return err
	})
	return chain, faultOf(s.database, "reading a body", err)
}

// unchain decodes the first of a chain of bodies, each of which is encoded
// against the next, and the last against the known one if that is its base.
func (s *bodies) unchain(id int64, chain []link, known cachedBody) (cachedBody, error) {
	if len(chain) == 0 {
		return cachedBody{}, fmt.Errorf("body %d: %w", id, freshet.ErrNotFound)
	}
	var body []byte
	if known.id != 0 && chain[len(chain)-1].base == known.id {
		body = known.body
	}
	for _, l := range slices.Backward(chain) {
		var err error
		if body, err = s.codec.decode(l.frame, body, l.size); err != nil {
			return cachedBody{}, s.damaged(fmt.Sprintf("body %d cannot be decoded: %v", l.id, err))
		}
	}
	if int64(xxhash.Sum64(body)) != chain[0].sum {
		return cachedBody{}, s.damaged(fmt.Sprintf("body %d is not what was written", id))
	}
	return cachedBody{id: id, depth: chain[0].depth, body: body}, nil
}

// damaged says what is not as it was written.
func (s *bodies) damaged(what string) error {
	return freshet.WithHint(fmt.Errorf("%s: %w: %s", s.name, freshet.ErrDamaged, what), s.database.Hint())
}

// An encoded is a body on its way into the database.
type encoded struct {
	body  []byte
	hash  freshet.Hash // of a text; zero for a raw response
	sum   int64
	base  int64 // the body that the frame is encoded against, if any
	depth int64
	frame []byte
}

// encodeBody prepares a body to be stored, against the body base unless that
// is zero. It is done before the transaction, by each caller for itself.
func (s *bodies) encodeBody(ctx context.Context, base int64, body []byte) (*encoded, error) {
	n := &encoded{body: body, sum: int64(xxhash.Sum64(body))}
	var history cachedBody
	if base != 0 {
		var err error
		history, err = s.body(ctx, base)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) && !errors.Is(err, freshet.ErrDamaged) {
			return nil, err
		}
		if history.depth >= deepest || history.depth*int64(len(body)) > chainBytes {
			history = cachedBody{}
		}
	}
	frame, alone, err := s.codec.encode(body, history.body)
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	n.frame = frame
	if !alone {
		n.base, n.depth = history.id, history.depth+1
	}
	return n, nil
}

// keep writes a body of a source, unless the source has it already, and
// returns its number.
func (b *batch) keep(e *entry, n *encoded) (int64, error) {
	// The newest version is never pruned; an older one may have been since
	// the body was encoded against it.
	if n.base != 0 && n.base != e.text && n.base != e.raw {
		there, err := b.Number("SELECT count(*) FROM bodies WHERE id = ?", n.base)
		if err != nil {
			return 0, err
		}
		if there == 0 {
			frame, _, err := b.store.codec.encode(n.body, nil)
			if err != nil {
				return 0, fmt.Errorf("compressing: %w", err)
			}
			n.frame, n.base, n.depth = frame, 0, 0
		}
	}
	id, size := b.next.body+1, int64(len(n.body))
	added, err := b.Exec(b.store.cfg.NewBody, id, e.key, n.sum, size, e.key, n.sum, size, n.base, n.depth, n.frame)
	if err != nil {
		return 0, err
	}
	if added == 0 { // nearly always because it is there
		if same, err := b.equalBody(e.key, n); err != nil || same != 0 {
			return same, err
		}
		if err := b.Do(insertBody, id, e.key, n.sum, size, n.base, n.depth, n.frame); err != nil {
			return 0, err
		}
	}
	b.next.body = id
	b.cached = append(b.cached, cachedBody{id: id, depth: n.depth, hash: n.hash, body: trimmed(n.body)})
	return id, nil
}

// trimmed returns a body without the room behind it, if that is worth a copy. Nobody changes a body that was captured.
func trimmed(body []byte) []byte {
	if cap(body)-len(body) > len(body)/8 {
		return bytes.Clone(body)
	}
	return body
}

const insertBody = "INSERT INTO bodies (id, source, sum, size, base, depth, frame) VALUES (?, ?, ?, ?, ?, ?, ?)"

// equalBody returns the stored body of a source that equals n, or zero.
func (b *batch) equalBody(key int64, n *encoded) (int64, error) {
	var like []int64
	err := b.Query("SELECT id FROM bodies WHERE source = ? AND sum = ? AND size = ?", []driver.Value{key, n.sum, int64(len(n.body))},
		func(v []driver.Value) error {
			like = append(like, v[0].(int64))
			return nil
		})
	if err != nil {
		return 0, err
	}
	for _, id := range like {
		if c, err := b.body(id); err == nil && bytes.Equal(c.body, n.body) {
			return id, nil
		}
	}
	return 0, nil
}

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
