package store

import (
	"context"
	"database/sql/driver"
	"fmt"

	"freshet/internal/freshet"
)

// cut drops versions of a source with numbers below first, the oldest first
// and not more than a transaction should hold, and returns how many. The
// newest version stays whatever first is.
func (s *pruner) cut(ctx context.Context, id freshet.SourceID, first int64, done *freshet.Pruned) (int, error) {
	var n int
	var freed int64
	err := s.write(ctx, "pruning source "+string(id), func(b *batch) (err error) {
		e := b.entry(id)
		if e == nil {
			n, freed = 0, 0
			return nil
		}
		n, freed, err = b.cut(e, min(first, e.head))
		return err
	})
	if err != nil {
		return 0, err
	}
	done.Versions += n
	done.Bytes += freed
	return n, nil
}

func (b *batch) cut(e *entry, first int64) (n int, freed int64, err error) {
	oldest, err := b.Number("SELECT min(number) FROM versions WHERE source = ?", e.key)
	if err != nil {
		return 0, 0, err
	}
	first = min(first, oldest+cutAtOnce)
	dropped, err := b.Exec("DELETE FROM versions WHERE source = ? AND number < ?", e.key, first)
	if err != nil || dropped == 0 {
		return 0, 0, err
	}
	if err := b.keepCounters(); err != nil {
		return 0, 0, err
	}
	if err := b.dropEnvelopes(e.key); err != nil {
		return 0, 0, err
	}
	if err := b.remove(&truncationsTable, "log = 'versions' AND source = ? AND last < ?", e.key, first); err != nil {
		return 0, 0, err
	}
	if e.first, err = b.Number("SELECT min(number) FROM versions WHERE source = ?", e.key); err != nil {
		return 0, 0, err
	}
	if err := b.writeHead(e); err != nil {
		return 0, 0, err
	}
	freed, err = b.dropBodies(e.key)
	return int(dropped), freed, err
}

// dropEnvelopes deletes the envelopes of a source that no version has any more.
func (b *batch) dropEnvelopes(key int64) error {
	return b.Do("DELETE FROM envelopes WHERE source = ?1 AND id NOT IN (SELECT envelope FROM versions WHERE source = ?1)", key)
}

// dropBodies deletes the bodies of a source that no version has any more, and
// returns the stored bytes that makes. Those encoded against one of them are
// encoded anew.
func (b *batch) dropBodies(key int64) (freed int64, err error) {
	bodies, err := b.readBodies(key)
	if err != nil {
		return 0, err
	}
	for id, l := range bodies {
		if l.wanted && l.base != 0 && !bodies[l.base].wanted {
			grown, err := b.rebase(id, bodies)
			if err != nil {
				return 0, err
			}
			freed -= grown
		}
	}
	for id, l := range bodies {
		if l.wanted {
			continue
		}
		if err := b.Do("DELETE FROM bodies WHERE id = ?", id); err != nil {
			return 0, err
		}
		b.forget = append(b.forget, id)
		freed += l.bytes
	}
	return freed, nil
}

// A rowOfBody is what has to be known of a body to drop it or not.
type rowOfBody struct {
	base, bytes int64
	wanted      bool // some version has it
}

// readBodies returns the bodies of a source by number.
func (b *batch) readBodies(key int64) (map[int64]rowOfBody, error) {
	wanted := map[int64]bool{}
	err := b.Query("SELECT text, raw, coalesce(picture, 0) FROM versions WHERE source = ?", []driver.Value{key}, func(v []driver.Value) error {
		wanted[v[0].(int64)], wanted[v[1].(int64)], wanted[v[2].(int64)] = true, true, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	bodies := map[int64]rowOfBody{}
	err = b.Query("SELECT id, base, length(frame) FROM bodies WHERE source = ?", []driver.Value{key}, func(v []driver.Value) error {
		id := v[0].(int64)
		bodies[id] = rowOfBody{base: v[1].(int64), bytes: v[2].(int64), wanted: wanted[id]}
		return nil
	})
	return bodies, err
}

// rebase encodes a body whose base is to go against the nearest of those it
// rests on that stays, or alone. It returns by how many bytes that is longer.
func (b *batch) rebase(id int64, bodies map[int64]rowOfBody) (grown int64, err error) {
	base := bodies[id].base
	for base != 0 && !bodies[base].wanted {
		base = bodies[base].base
	}
	own, err := b.body(id)
	if err != nil {
		return 0, err
	}
	var history cachedBody
	if base != 0 {
		if history, err = b.body(base); err != nil {
			return 0, err
		}
	}
	frame, alone, err := b.store.codec.encode(own.body, history.body)
	if err != nil {
		return 0, fmt.Errorf("compressing: %w", err)
	}
	depth := history.depth + 1
	if alone {
		base, depth = 0, 0
	}
	err = b.Do("UPDATE bodies SET base = ?, depth = ?, frame = ? WHERE id = ?", base, depth, frame, id)
	b.forget = append(b.forget, id) // from the cache, which knows the old depth
	return int64(len(frame)) - bodies[id].bytes, err
}

// body returns a body as this transaction has it.
func (b *batch) body(id int64) (cachedBody, error) {
	if c, ok := b.store.cache.get(id); ok {
		return c, nil
	}
	var chain []link
	err := b.Query(selectChain, []driver.Value{id, int64(0)}, func(v []driver.Value) error {
		l := link{id: v[0].(int64), sum: v[1].(int64), size: v[2].(int64), base: v[3].(int64), depth: v[4].(int64)}
		l.frame = append(l.frame, v[5].([]byte)...)
		chain = append(chain, l)
		return nil
	})
	if err != nil {
		return cachedBody{}, err
	}
	return b.store.unchain(id, chain, cachedBody{})
}

// DropBodies drops the bodies of all sources that no version has.
func (s *pruner) DropBodies(ctx context.Context) error {
	for _, e := range s.entries {
		err := s.write(ctx, "repairing source "+string(e.id), func(b *batch) error {
			_, err := b.dropBodies(e.key)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
