package diskfault

import (
	"errors"
	"sync/atomic"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// An Op is something that SQLite asks of a disk.
type Op string

// The operations that a [Hook] sees.
const (
	Open     Op = "open"
	Read     Op = "read"
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "sync"
	Delete   Op = "delete"
	Map      Op = "map" // growing the memory that the users of a WAL share, a file beside the database
)

// A Call is one operation on one file.
type Call struct {
	Op     Op
	Path   string
	Offset int64
	Size   int
}

// A Hook is called before each operation. If it returns an error the operation
// fails with it: syscall.ENOSPC is a full disk, [ErrShort] a write that stops
// half-way, anything else a disk that refuses. It may block, for a disk that is
// slow; nothing is locked meanwhile. It may be called by several goroutines at
// once.
type Hook func(Call) error

// ErrShort makes a write put down the first half of its bytes and report that
// the disk is full, as a short write does.
var ErrShort = errors.New("short write")

// hooked is the hook of a disk.
type hooked struct{ hook atomic.Pointer[Hook] }

// SetHook has h called before each operation from now on. nil means no hook.
func (k *hooked) SetHook(h Hook) {
	if h == nil {
		k.hook.Store(nil)
		return
	}
	k.hook.Store(&h)
}

// ask calls the hook, if there is one.
func (k *hooked) ask(c Call) error {
	if h := k.hook.Load(); h != nil {
		return (*h)(c)
	}
	return nil
}

// code returns what SQLite is told when an operation fails with err.
func code(op Op, err error) int32 {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrShort)
	switch op {
	case Open:
		return sqlite3.SQLITE_CANTOPEN
	case Read:
		return sqlite3.SQLITE_IOERR_READ
	case Write:
		if full {
			return sqlite3.SQLITE_FULL
		}
		return sqlite3.SQLITE_IOERR_WRITE
	case Truncate:
		return sqlite3.SQLITE_IOERR_TRUNCATE
	case Sync:
		return sqlite3.SQLITE_IOERR_FSYNC
	case Delete:
		return sqlite3.SQLITE_IOERR_DELETE
	case Map:
		if full {
			return sqlite3.SQLITE_IOERR_SHMSIZE
		}
		return sqlite3.SQLITE_IOERR_SHMMAP
	}
	return sqlite3.SQLITE_IOERR
}
