package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"freshet/internal/freshet"
)

// codeOf returns the primary result code of SQLite in err, or 0.
func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// noRoom reports whether SQLite could not make the file larger that its readers
// share: on a full disk that comes before it finds the disk full.
func noRoom(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}

// fault says in the words of package freshet what went wrong while doing
// something with the database at path.
func fault(path, doing string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := func(as error) error { return fmt.Errorf("%s in %s: %w: %w", doing, path, as, err) }
	full := func() error {
		return freshet.WithHint(wrapped(freshet.ErrStorage), "the disk is full: free some disk space, or keep less history")
	}
	if noRoom(err) {
		return full()
	}
	switch codeOf(err) {
	case sqlite3.SQLITE_FULL:
		return full()
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return freshet.WithHint(wrapped(freshet.ErrStorage), "make sure that this user can write to the data directory and the files in it")
	case sqlite3.SQLITE_IOERR:
		return freshet.WithHint(wrapped(freshet.ErrStorage), "the disk failed to read or write: check the system log, then restart")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return freshet.WithHint(wrapped(freshet.ErrDamaged), mendHint(path))
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return freshet.WithHint(wrapped(freshet.ErrBusy), "another program has the database open: close it")
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return full()
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return freshet.WithHint(wrapped(freshet.ErrStorage), "make sure that this user can write to the data directory and the files in it")
	}
	return fmt.Errorf("%s in %s: %w", doing, path, err)
}

// mendHint is what to do about a damaged file.
func mendHint(path string) string {
	return fmt.Sprintf("restore a backup, or copy what is still readable: freshet check --data %s --repair NEW; if that fails: sqlite3 %s .recover | sqlite3 repaired.db",
		filepath.Dir(path), path)
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
