package diskfault

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The methods of a VFS and of its files as SQLite calls them. A file is known by
// the address of the room that SQLite has set aside for it.
type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	accessFunc   = func(tls *libc.TLS, vfs, name uintptr, flags int32, out uintptr) int32
	pathFunc     = func(tls *libc.TLS, vfs, name uintptr, room int32, out uintptr) int32
	sleepFunc    = func(tls *libc.TLS, vfs uintptr, micros int32) int32
	timeFunc     = func(tls *libc.TLS, vfs, out uintptr) int32
	fileFunc     = func(tls *libc.TLS, file uintptr) int32
	transferFunc = func(tls *libc.TLS, file, buffer uintptr, size int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	levelFunc    = func(tls *libc.TLS, file uintptr, level int32) int32
	outFunc      = func(tls *libc.TLS, file, out uintptr) int32
	controlFunc  = func(tls *libc.TLS, file uintptr, op int32, arg uintptr) int32
	mapFunc      = func(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32
	shareFunc    = func(tls *libc.TLS, file uintptr, offset, n, flags int32) int32
	barrierFunc  = func(tls *libc.TLS, file uintptr)
)

// A plan is what a kind of disk does in its own way. What a VFS does besides, it
// takes from that of the machine.
type plan struct {
	open   openFunc
	delete deleteFunc
	access accessFunc // nil: as the machine does
	path   pathFunc   // nil: as the machine does
	sleep  sleepFunc  // nil: as the machine does
	time   timeFunc   // nil: as the machine does
	room   int32      // bytes that SQLite sets aside for a file

	close, sector, traits fileFunc
	read, write           transferFunc
	truncate              truncateFunc
	sync, lock, unlock    levelFunc
	unmap                 levelFunc
	size, reserved        outFunc
	control               controlFunc
	shared                mapFunc
	share                 shareFunc
	barrier               barrierFunc
}

// A vfs is a plan that SQLite has been told of. SQLite sees only addresses, so
// what they lead to is kept alive here.
type vfs struct {
	mu      sync.Mutex
	tls     *libc.TLS
	name    string
	address uintptr // of the VFS, as SQLite knows it
	methods uintptr // of its files
	cname   uintptr
	kept    []any
}

// register tells SQLite of a plan.
func register(p plan) (*vfs, error) {
	v := &vfs{tls: libc.NewTLS()}
	base := machine(v.tls)
	v.address = sqlite3.Xsqlite3_malloc64(v.tls, uint64(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	v.methods = sqlite3.Xsqlite3_malloc64(v.tls, uint64(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	if base == nil || v.address == 0 || v.methods == 0 {
		return nil, fmt.Errorf("registering a disk: SQLite has no memory or no VFS")
	}
	v.name = fmt.Sprintf("disk-%x", v.address)
	var err error
	if v.cname, err = libc.CString(v.name); err != nil {
		return nil, fmt.Errorf("registering a disk: %w", err)
	}
	mine := *base
	mine.FiVersion = 2
	mine.FszOsFile = p.room
	mine.FpNext = 0
	mine.FzName = v.cname
	mine.FxOpen = keep(v, p.open)
	mine.FxDelete = keep(v, p.delete)
	if p.access != nil {
		mine.FxAccess, mine.FxFullPathname = keep(v, p.access), keep(v, p.path)
		mine.FxSleep, mine.FxCurrentTimeInt64 = keep(v, p.sleep), keep(v, p.time)
	}
	*(*sqlite3.Tsqlite3_vfs)(at(v.address)) = mine
	*(*sqlite3.Tsqlite3_io_methods)(at(v.methods)) = sqlite3.Tsqlite3_io_methods{
		FiVersion:               2, // with shared memory, without mapped files
		FxClose:                 keep(v, p.close),
		FxRead:                  keep(v, p.read),
		FxWrite:                 keep(v, p.write),
		FxTruncate:              keep(v, p.truncate),
		FxSync:                  keep(v, p.sync),
		FxFileSize:              keep(v, p.size),
		FxLock:                  keep(v, p.lock),
		FxUnlock:                keep(v, p.unlock),
		FxCheckReservedLock:     keep(v, p.reserved),
		FxFileControl:           keep(v, p.control),
		FxSectorSize:            keep(v, p.sector),
		FxDeviceCharacteristics: keep(v, p.traits),
		FxShmMap:                keep(v, p.shared),
		FxShmLock:               keep(v, p.share),
		FxShmBarrier:            keep(v, p.barrier),
		FxShmUnmap:              keep(v, p.unmap),
	}
	if rc := sqlite3.Xsqlite3_vfs_register(v.tls, v.address, 0); rc != sqlite3.SQLITE_OK {
		return nil, fmt.Errorf("registering a disk: SQLite says %d", rc)
	}
	return v, nil
}

// close has SQLite forget the VFS.
func (v *vfs) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tls == nil {
		return nil
	}
	if rc := sqlite3.Xsqlite3_vfs_unregister(v.tls, v.address); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("closing a disk: SQLite says %d", rc)
	}
	sqlite3.Xsqlite3_free(v.tls, v.address)
	sqlite3.Xsqlite3_free(v.tls, v.methods)
	libc.Xfree(v.tls, v.cname)
	v.tls.Close()
	v.tls, v.kept = nil, nil
	return nil
}

// machine returns the VFS of the machine, or nil.
func machine(tls *libc.TLS) *sqlite3.Tsqlite3_vfs {
	return (*sqlite3.Tsqlite3_vfs)(at(sqlite3.Xsqlite3_vfs_find(tls, 0)))
}

// keep returns a function as SQLite calls it, and keeps it alive.
func keep[F any](v *vfs, f F) uintptr {
	v.kept = append(v.kept, f)
	return addressOf(f)
}

// addressOf returns a function as SQLite, which is translated from C, holds it.
func addressOf[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// call is the reverse of addressOf.
func call[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

// at returns what lies at an address that SQLite has given.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// bytesAt returns so many bytes of SQLite's memory.
func bytesAt(address uintptr, size int32) []byte { return unsafe.Slice((*byte)(at(address)), size) }
