package sqlite

import (
	"context"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"freshet"
)

// write performs a job in the next transaction, and returns when it is synced.
func (s *Store) write(ctx context.Context, doing string, j job) error {
	if s.cfg.ReadOnly {
		return fmt.Errorf("%s in %s: %w: it is open for reading only", doing, s.path, freshet.ErrStorage)
	}
	err := s.queue.do(ctx, j)
	switch {
	case errors.Is(err, freshet.ErrStorage), errors.Is(err, freshet.ErrDamaged):
		return fmt.Errorf("%s: %w", doing, err)
	case codeOf(err) != 0:
		return fault(s.path, doing, err)
	}
	return err
}

// storageFault turns an error of a transaction into what its callers get. If
// it leaves unknown what is on disk, nothing more is written.
func (s *Store) storageFault(err error) error {
	found := fault(s.path, "writing", err)
	if !errors.Is(found, freshet.ErrStorage) && !errors.Is(found, freshet.ErrDamaged) {
		found = fmt.Errorf("%w: %w", freshet.ErrStorage, found)
	}
	if leavesDoubt(err) {
		found = fmt.Errorf("%w: %w", freshet.ErrStoreFailed, found)
		s.broken = found
		s.log.Error("nothing more is written until freshet is restarted", "err", err)
	}
	return found
}

// leavesDoubt reports whether, after this error, what the disk holds is not
// known.
func leavesDoubt(err error) bool {
	switch codeOf(err) {
	case sqlite3.SQLITE_IOERR:
		return !noRoom(err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}

// isConstraint reports whether SQLite refused a row as such.
func isConstraint(err error) bool {
	switch codeOf(err) {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

// unknown says that there is no such source.
func unknown(id freshet.SourceID) error {
	return fmt.Errorf("source %s: %w", id, freshet.ErrNotFound)
}
