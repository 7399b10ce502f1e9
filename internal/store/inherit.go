package store

import (
	"context"

	"freshet/internal/freshet"
)

// LoadFrom is Load, for a store that is to be written, with what another one has read of the same
// database up to now: only what was written since is read. Both have one ledger from then on, so
// that nothing is copied: whoever still asks the other one finds what this one knows, until one of them is
// closed.
func (s *Store) LoadFrom(ctx context.Context, other *Store) (err error) {
	if err := s.checkMark(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.part()
		}
	}()
	taken, err := s.inherit(ctx, other.mirror)
	if err == nil && !taken {
		err = s.load(ctx)
	}
	if err != nil {
		return s.fault("reading the store", err)
	}
	return s.resume(ctx)
}

// inherit goes on in the ledger of another store, and reports whether that could be brought up to
// date. The other one does not follow any more.
func (s *mirror) inherit(ctx context.Context, other *mirror) (bool, error) {
	other.following.Lock()
	defer other.following.Unlock()
	if other.heir != nil {
		return false, nil
	}
	if followed, err := other.follow(ctx); !followed || err != nil {
		return false, err
	}
	unwritten, err := s.readUnwritten(ctx)
	if err != nil {
		return false, err
	}
	s.ledger, other.heir = other.ledger, s
	s.from.Store(other)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.unmarked = other.reached.next, len(unwritten)
	s.takeEpochs(other.reached.epochs)
	for _, id := range unwritten {
		s.owe(id)
	}
	for id := range other.reached.opens {
		s.owe(id)
	}
	return true, nil
}

// readUnwritten returns the sources of all outcomes since the last mark: none has been added to
// what is written of them. One that is gone is empty.
func (s *mirror) readUnwritten(ctx context.Context) (ids []freshet.SourceID, err error) {
	mark, err := readMark(ctx, s.reader)
	if err != nil {
		return nil, err
	}
	const query = "SELECT coalesce(s.id, '') FROM outcomes o LEFT JOIN sources s ON s.key = o.source WHERE o.cursor > ?"
	err = eachRow(ctx, s.reader, query, []any{mark}, func(scan func(...any) error) error {
		var id freshet.SourceID
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// owe notes that the tally of a source is newer than what is written of it.
func (s *ledger) owe(id freshet.SourceID) {
	if e := s.entries[id]; e != nil && !e.dirty {
		e.dirty = true
		s.owing = append(s.owing, e)
	}
}

// part has two stores with one ledger go their own ways, because this one ends. If it was the
// one that writes, the other reads everything anew: what is in the ledger is not what it read.
func (s *mirror) part() {
	s.following.Lock()
	if s.heir != nil {
		s.heir.from.CompareAndSwap(s, nil)
	}
	s.following.Unlock()
	other := s.from.Swap(nil)
	if other == nil {
		return
	}
	other.following.Lock()
	defer other.following.Unlock()
	if other.heir == s {
		other.heir, other.reached = nil, reached{}
	}
}
