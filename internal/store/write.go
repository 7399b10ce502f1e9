package store

import (
	"context"
	"errors"
	"fmt"

	"freshet/internal/freshet"
)

// A committer writes: it gathers the work of concurrent callers into transactions.
type committer struct {
	*mirror
	*bodies
	index    *searchIndex // is told of new versions
	itemless itemless
	queue    queue

	// These belong to the leader of the queue.
	writer *Writer
	slate  slate
	broken error  // why nothing can be written until the store is opened again
	pruned Moment // attempts that began before it may have been deleted, though they are open
}

// Write performs a job in the next transaction, and returns when it is committed.
func (s *committer) Write(ctx context.Context, doing string, job func(*Writer) error) error {
	return s.write(ctx, doing, func(b *batch) error { return job(b.Writer) })
}

// write performs a job in the next transaction, and returns when it is synced.
func (s *committer) write(ctx context.Context, doing string, j job) error {
	if s.cfg.ReadOnly {
		return fmt.Errorf("%s in %s: %w: it is open for reading only", doing, s.cfg.Name, freshet.ErrStorage)
	}
	err := s.queue.do(ctx, j)
	switch {
	case errors.Is(err, freshet.ErrStorage), errors.Is(err, freshet.ErrDamaged):
		return fmt.Errorf("%s: %w", doing, err)
	case s.cfg.Database.Judge(err) != NotOfDatabase:
		return s.fault(doing, err)
	}
	return err
}

// storageFault turns an error of a transaction into what its callers get. If
// it leaves unknown what is on disk, nothing more is written.
func (s *committer) storageFault(err error) error {
	found := s.fault("writing", err)
	if !errors.Is(found, freshet.ErrStorage) && !errors.Is(found, freshet.ErrDamaged) {
		found = fmt.Errorf("%w: %w", freshet.ErrStorage, found)
	}
	if s.cfg.Database.Judge(err) == InDoubt {
		found = fmt.Errorf("%w: %w", freshet.ErrStoreFailed, found)
		s.broken = found
		s.log.Error("nothing more is written to this store", "err", err, "hint", "restart freshet, unless it goes on by itself, as a node on PostgreSQL does")
	}
	return found
}

// unknown says that there is no such source.
func unknown(id freshet.SourceID) error {
	return fmt.Errorf("source %s: %w", id, freshet.ErrNotFound)
}
