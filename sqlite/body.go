package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"freshet"
)

const (
	// deepest is how many bodies may have to be decoded before another one.
	// The next is then encoded alone.
	deepest = 50

	// chainBytes bounds the work of reaching a body in the same way.
	chainBytes = 64 << 20
)

// A link is a row of the bodies table.
type link struct {
	id, sum, size, base, depth int64
	frame                      []byte
}

const selectChain = `WITH RECURSIVE chain (id, sum, size, base, depth, frame) AS (
		SELECT id, sum, size, base, depth, frame FROM bodies WHERE id = ?
		UNION ALL
		SELECT b.id, b.sum, b.size, b.base, b.depth, b.frame FROM chain c JOIN bodies b ON b.id = c.base
	) SELECT id, sum, size, base, depth, frame FROM chain`

// body returns a body, which must not be changed.
func (s *Store) body(ctx context.Context, id int64) (cachedBody, error) {
	if b, ok := s.cache.get(id); ok {
		return b, nil
	}
	var chain []link
	err := eachRow(ctx, s.reader, selectChain, []any{id}, func(scan func(...any) error) error {
		var l link
		err := scan(&l.id, &l.sum, &l.size, &l.base, &l.depth, &l.frame)
		chain = append(chain, l)
		return err
	})
	if err != nil {
		return cachedBody{}, fault(s.path, "reading a body", err)
	}
	b, err := s.unchain(id, chain)
	if err != nil {
		return cachedBody{}, err
	}
	s.cache.put(b)
	return b, nil
}

// unchain decodes the first of a chain of bodies, each of which is encoded
// against the next.
func (s *Store) unchain(id int64, chain []link) (cachedBody, error) {
	if len(chain) == 0 {
		return cachedBody{}, fmt.Errorf("body %d: %w", id, freshet.ErrNotFound)
	}
	var body []byte
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

// damaged says what in the file is not as it was written.
func (s *Store) damaged(what string) error {
	return freshet.WithHint(fmt.Errorf("%s: %w: %s", s.path, freshet.ErrDamaged, what), mendHint(s.path))
}

// An encoded is a body on its way into the database.
type encoded struct {
	body  []byte
	hash  freshet.Hash // of a text; zero for a raw response
	sum   int64
	same  int64 // the stored body that it equals, if any
	base  int64 // the body that the frame is encoded against, if any
	depth int64
	frame []byte
}

// encodeBody prepares a body of a source to be stored, against base if that
// is one. It is done before the transaction, by each caller for itself.
func (s *Store) encodeBody(ctx context.Context, key, base int64, body []byte) (*encoded, error) {
	n := &encoded{body: body, sum: int64(xxhash.Sum64(body))}
	same, err := s.equalBody(ctx, key, n)
	if err != nil || same != 0 {
		n.same = same
		return n, err
	}
	var history cachedBody
	if base != 0 {
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

// equalBody returns the stored body of the source that equals n, or zero.
func (s *Store) equalBody(ctx context.Context, key int64, n *encoded) (int64, error) {
	var like []int64
	err := eachRow(ctx, s.reader, "SELECT id FROM bodies WHERE source = ? AND sum = ? AND size = ?", []any{key, n.sum, len(n.body)},
		func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			like = append(like, id)
			return err
		})
	if err != nil {
		return 0, fault(s.path, "looking for a body", err)
	}
	for _, id := range like {
		if b, err := s.body(ctx, id); err == nil && bytes.Equal(b.body, n.body) {
			return id, nil
		}
	}
	return 0, nil
}

// keep writes a body, unless it is there, and returns its number.
func (b *batch) keep(key int64, n *encoded) (int64, error) {
	if n.same != 0 {
		there, err := b.number("SELECT count(*) FROM bodies WHERE id = ?", n.same)
		if err != nil || there == 1 {
			return n.same, err
		}
	}
	if n.base != 0 {
		there, err := b.number("SELECT count(*) FROM bodies WHERE id = ?", n.base)
		if err != nil {
			return 0, err
		}
		if there == 0 {
			n.frame = nil // pruned meanwhile
		}
	}
	if n.frame == nil {
		frame, _, err := b.store.codec.encode(n.body, nil)
		if err != nil {
			return 0, fmt.Errorf("compressing: %w", err)
		}
		n.frame, n.base, n.depth = frame, 0, 0
	}
	b.next.body++
	id := b.next.body
	b.cached = append(b.cached, cachedBody{id: id, depth: n.depth, hash: n.hash, body: bytes.Clone(n.body)})
	_, err := b.exec("INSERT INTO bodies (id, source, sum, size, base, depth, frame) VALUES (?, ?, ?, ?, ?, ?, ?)",
		id, key, n.sum, int64(len(n.body)), n.base, n.depth, n.frame)
	return id, err
}
