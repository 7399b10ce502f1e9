package diskfault

import (
	"errors"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Files is the file system of the machine, with a hook before each operation.
type Files struct {
	hooked
	vfs  *vfs
	base *sqlite3.Tsqlite3_vfs

	mu    sync.Mutex
	paths map[uintptr]string // of open files, by the address that SQLite knows them by
}

// NewFiles returns the file system of the machine as a disk.
func NewFiles() (*Files, error) {
	tls := libc.NewTLS()
	defer tls.Close()
	f := &Files{base: machine(tls), paths: map[uintptr]string{}}
	if f.base == nil {
		return nil, errors.New("making a disk: SQLite has no VFS")
	}
	var err error
	f.vfs, err = register(f.plan())
	return f, err
}

// VFS is the name by which SQLite knows the disk.
func (f *Files) VFS() string { return f.vfs.name }

// Close has SQLite forget the disk. All that was opened on it must have been
// closed.
func (f *Files) Close() error { return f.vfs.close() }

// header is what stands before the machine's own file in the room that SQLite
// sets aside: the address of the methods.
const header = 16

// real returns the machine's own file and its methods.
func real(file uintptr) (uintptr, *sqlite3.Tsqlite3_io_methods) {
	own := file + header
	return own, (*sqlite3.Tsqlite3_io_methods)(at((*sqlite3.Tsqlite3_file)(at(own)).FpMethods))
}

// plan passes everything on to the machine.
func (f *Files) plan() plan {
	return plan{
		room: f.base.FszOsFile + header, open: f.open, delete: f.delete,
		close: f.close, read: f.read, write: f.write, truncate: f.truncate, sync: f.sync,
		size: func(tls *libc.TLS, file, out uintptr) int32 {
			own, methods := real(file)
			return call[outFunc](methods.FxFileSize)(tls, own, out)
		},
		lock: func(tls *libc.TLS, file uintptr, level int32) int32 {
			own, methods := real(file)
			return call[levelFunc](methods.FxLock)(tls, own, level)
		},
		unlock: func(tls *libc.TLS, file uintptr, level int32) int32 {
			own, methods := real(file)
			return call[levelFunc](methods.FxUnlock)(tls, own, level)
		},
		reserved: func(tls *libc.TLS, file, out uintptr) int32 {
			own, methods := real(file)
			return call[outFunc](methods.FxCheckReservedLock)(tls, own, out)
		},
		control: func(tls *libc.TLS, file uintptr, op int32, arg uintptr) int32 {
			own, methods := real(file)
			return call[controlFunc](methods.FxFileControl)(tls, own, op, arg)
		},
		sector: func(tls *libc.TLS, file uintptr) int32 {
			own, methods := real(file)
			return call[fileFunc](methods.FxSectorSize)(tls, own)
		},
		traits: func(tls *libc.TLS, file uintptr) int32 {
			own, methods := real(file)
			return call[fileFunc](methods.FxDeviceCharacteristics)(tls, own)
		},
		shared: f.mapShared,
		share: func(tls *libc.TLS, file uintptr, offset, n, flags int32) int32 {
			own, methods := real(file)
			return call[shareFunc](methods.FxShmLock)(tls, own, offset, n, flags)
		},
		barrier: func(tls *libc.TLS, file uintptr) {
			own, methods := real(file)
			call[barrierFunc](methods.FxShmBarrier)(tls, own)
		},
		unmap: func(tls *libc.TLS, file uintptr, forget int32) int32 {
			own, methods := real(file)
			return call[levelFunc](methods.FxShmUnmap)(tls, own, forget)
		},
	}
}

func (f *Files) open(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	mine := (*sqlite3.Tsqlite3_file)(at(file))
	mine.FpMethods = 0
	path := ""
	if name != 0 {
		path = libc.GoString(name)
	}
	if err := f.ask(Call{Op: Open, Path: path}); err != nil {
		return code(Open, err)
	}
	rc := call[openFunc](f.base.FxOpen)(tls, sqlite3.Xsqlite3_vfs_find(tls, 0), name, file+header, flags, out)
	if (*sqlite3.Tsqlite3_file)(at(file+header)).FpMethods != 0 {
		mine.FpMethods = f.vfs.methods // SQLite closes it also if there was an error
		f.mu.Lock()
		f.paths[file] = path
		f.mu.Unlock()
	}
	return rc
}

func (f *Files) close(tls *libc.TLS, file uintptr) int32 {
	f.mu.Lock()
	delete(f.paths, file)
	f.mu.Unlock()
	own, methods := real(file)
	return call[fileFunc](methods.FxClose)(tls, own)
}

// asked calls the hook for an operation on an open file.
func (f *Files) asked(file uintptr, op Op, offset int64, size int) error {
	f.mu.Lock()
	path := f.paths[file]
	f.mu.Unlock()
	return f.ask(Call{Op: op, Path: path, Offset: offset, Size: size})
}

func (f *Files) read(tls *libc.TLS, file, buffer uintptr, size int32, offset int64) int32 {
	if err := f.asked(file, Read, offset, int(size)); err != nil {
		return code(Read, err)
	}
	own, methods := real(file)
	return call[transferFunc](methods.FxRead)(tls, own, buffer, size, offset)
}

func (f *Files) write(tls *libc.TLS, file, buffer uintptr, size int32, offset int64) int32 {
	own, methods := real(file)
	err := f.asked(file, Write, offset, int(size))
	if errors.Is(err, ErrShort) {
		call[transferFunc](methods.FxWrite)(tls, own, buffer, size/2, offset)
	}
	if err != nil {
		return code(Write, err)
	}
	return call[transferFunc](methods.FxWrite)(tls, own, buffer, size, offset)
}

func (f *Files) truncate(tls *libc.TLS, file uintptr, size int64) int32 {
	if err := f.asked(file, Truncate, size, 0); err != nil {
		return code(Truncate, err)
	}
	own, methods := real(file)
	return call[truncateFunc](methods.FxTruncate)(tls, own, size)
}

func (f *Files) sync(tls *libc.TLS, file uintptr, flags int32) int32 {
	if err := f.asked(file, Sync, 0, 0); err != nil {
		return code(Sync, err)
	}
	own, methods := real(file)
	return call[levelFunc](methods.FxSync)(tls, own, flags)
}

func (f *Files) mapShared(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32 {
	if err := f.asked(file, Map, int64(region)*int64(size), int(size)); err != nil {
		return code(Map, err)
	}
	own, methods := real(file)
	return call[mapFunc](methods.FxShmMap)(tls, own, region, size, extend, out)
}

func (f *Files) delete(tls *libc.TLS, _, name uintptr, syncDir int32) int32 {
	if err := f.ask(Call{Op: Delete, Path: libc.GoString(name)}); err != nil {
		return code(Delete, err)
	}
	return call[deleteFunc](f.base.FxDelete)(tls, sqlite3.Xsqlite3_vfs_find(tls, 0), name, syncDir)
}
