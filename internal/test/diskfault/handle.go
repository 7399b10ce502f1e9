package diskfault

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A process is a user of a Memory, until it is killed or the power fails.
type process struct {
	disk    *Memory
	vfs     *vfs
	handles map[uintptr]*handle // by the address that SQLite knows them by
}

// A handle is a file that a process has open.
type handle struct {
	file    *inode
	path    string
	syncDir bool // the first sync is one of the directory too
	forget  bool // delete it when it is closed
	level   int32
	shm     *shm
	shared  uint16 // locks on the shared memory, a bit each
	own     uint16
}

// plan is how SQLite gets at the disk.
func (p *process) plan() plan {
	const room = 16 // for the address of the methods
	return plan{
		room: room, open: p.open, delete: p.delete, access: p.access, path: fullPath, sleep: sleep, time: julian,
		close: p.close, read: p.read, write: p.write, truncate: p.truncate, sync: p.sync, size: p.size,
		sector:  func(*libc.TLS, uintptr) int32 { return 4096 },
		traits:  func(*libc.TLS, uintptr) int32 { return sqlite3.SQLITE_IOCAP_POWERSAFE_OVERWRITE },
		control: func(*libc.TLS, uintptr, int32, uintptr) int32 { return sqlite3.SQLITE_NOTFOUND },
		lock:    p.lock, unlock: p.unlock, reserved: p.reserved,
		shared: p.mapShared, share: p.lockShared, unmap: p.unmapShared, barrier: p.barrier,
	}
}

// begin asks the hook about an operation. The disk is locked unless there is an
// error.
func (p *process) begin(c Call) error {
	if p.ended() {
		return fs.ErrClosed
	}
	if err := p.disk.ask(c); err != nil {
		return err
	}
	p.disk.mu.Lock()
	if p.disk.running != p {
		p.disk.mu.Unlock()
		return fs.ErrClosed
	}
	return nil
}

// ended reports whether the process has been ended.
func (p *process) ended() bool {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	return p.disk.running != p
}

// handle returns an open file.
func (p *process) handle(file uintptr) *handle {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	return p.handles[file]
}

func (p *process) open(_ *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	methods := (*sqlite3.Tsqlite3_file)(at(file))
	methods.FpMethods = 0
	h := &handle{forget: flags&sqlite3.SQLITE_OPEN_DELETEONCLOSE != 0}
	if name != 0 {
		h.path = libc.GoString(name)
	}
	if err := p.begin(Call{Op: Open, Path: h.path}); err != nil {
		return code(Open, err)
	}
	m := p.disk
	defer m.mu.Unlock()
	h.file = m.names[h.path]
	switch {
	case name == 0:
		h.file = &inode{}
	case h.file == nil && flags&sqlite3.SQLITE_OPEN_CREATE == 0:
		return code(Open, fs.ErrNotExist)
	case h.file == nil:
		h.file = &inode{}
		m.name(h.path, h.file)
		const journals = sqlite3.SQLITE_OPEN_MAIN_JOURNAL | sqlite3.SQLITE_OPEN_SUPER_JOURNAL | sqlite3.SQLITE_OPEN_WAL
		h.syncDir = flags&journals != 0
	}
	h.file.handles = append(h.file.handles, h)
	p.handles[file] = h
	methods.FpMethods = p.vfs.methods
	if out != 0 {
		*(*int32)(at(out)) = flags
	}
	return sqlite3.SQLITE_OK
}

func (p *process) read(_ *libc.TLS, file, buffer uintptr, size int32, offset int64) int32 {
	h := p.handle(file)
	if err := p.begin(Call{Op: Read, Path: h.path, Offset: offset, Size: int(size)}); err != nil {
		return code(Read, err)
	}
	defer p.disk.mu.Unlock()
	b := bytesAt(buffer, size)
	n := 0
	if offset < int64(len(h.file.data)) {
		n = copy(b, h.file.data[offset:])
	}
	if n < len(b) {
		clear(b[n:])
		return sqlite3.SQLITE_IOERR_SHORT_READ
	}
	return sqlite3.SQLITE_OK
}

func (p *process) write(_ *libc.TLS, file, buffer uintptr, size int32, offset int64) int32 {
	h := p.handle(file)
	b := slices.Clone(bytesAt(buffer, size))
	err := p.begin(Call{Op: Write, Path: h.path, Offset: offset, Size: int(size)})
	if errors.Is(err, ErrShort) {
		p.disk.mu.Lock()
		defer p.disk.mu.Unlock()
		if p.disk.running == p {
			h.file.change(change{offset: offset, bytes: b[:len(b)/2]})
		}
		return code(Write, err)
	}
	if err != nil {
		return code(Write, err)
	}
	defer p.disk.mu.Unlock()
	if err := p.disk.room(offset + int64(size) - int64(len(h.file.data))); err != nil {
		return code(Write, err)
	}
	h.file.change(change{offset: offset, bytes: b})
	return sqlite3.SQLITE_OK
}

func (p *process) truncate(_ *libc.TLS, file uintptr, size int64) int32 {
	h := p.handle(file)
	if err := p.begin(Call{Op: Truncate, Path: h.path, Offset: size}); err != nil {
		return code(Truncate, err)
	}
	defer p.disk.mu.Unlock()
	h.file.change(change{offset: size, cut: true})
	return sqlite3.SQLITE_OK
}

func (p *process) sync(_ *libc.TLS, file uintptr, _ int32) int32 {
	h := p.handle(file)
	if err := p.begin(Call{Op: Sync, Path: h.path}); err != nil {
		p.disk.mu.Lock()
		defer p.disk.mu.Unlock()
		if p.disk.running == p {
			h.file.failSync(p.disk.rng)
		}
		return code(Sync, err)
	}
	defer p.disk.mu.Unlock()
	h.file.sync()
	if h.syncDir {
		p.disk.syncDir(path.Dir(h.path))
		h.syncDir = false
	}
	return sqlite3.SQLITE_OK
}

func (p *process) size(_ *libc.TLS, file, out uintptr) int32 {
	if p.ended() {
		return sqlite3.SQLITE_IOERR_FSTAT
	}
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	*(*int64)(at(out)) = int64(len(p.handles[file].file.data))
	return sqlite3.SQLITE_OK
}

func (p *process) close(tls *libc.TLS, file uintptr) int32 {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	h := p.handles[file]
	delete(p.handles, file)
	h.leaveShared(tls)
	h.file.handles = slices.DeleteFunc(h.file.handles, func(other *handle) bool { return other == h })
	if h.forget && h.path != "" && p.disk.running == p {
		p.disk.name(h.path, nil)
	}
	return sqlite3.SQLITE_OK
}

func (p *process) delete(_ *libc.TLS, _, name uintptr, syncDir int32) int32 {
	file := libc.GoString(name)
	if err := p.begin(Call{Op: Delete, Path: file}); err != nil {
		return code(Delete, err)
	}
	defer p.disk.mu.Unlock()
	if p.disk.names[file] == nil {
		return sqlite3.SQLITE_IOERR_DELETE_NOENT
	}
	p.disk.name(file, nil)
	if syncDir != 0 {
		p.disk.syncDir(path.Dir(file))
	}
	return sqlite3.SQLITE_OK
}

// access says of an empty file that it does not exist, as the VFS for Unix does.
func (p *process) access(_ *libc.TLS, _, name uintptr, flags int32, out uintptr) int32 {
	if p.ended() {
		return sqlite3.SQLITE_IOERR_ACCESS
	}
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	f := p.disk.names[libc.GoString(name)]
	there := f != nil && (flags != sqlite3.SQLITE_ACCESS_EXISTS || len(f.data) > 0)
	*(*int32)(at(out)) = libc.Bool32(there)
	return sqlite3.SQLITE_OK
}

// fullPath takes every path as it is.
func fullPath(_ *libc.TLS, _, name uintptr, room int32, out uintptr) int32 {
	path := libc.GoString(name)
	if len(path) >= int(room) {
		return sqlite3.SQLITE_CANTOPEN
	}
	b := bytesAt(out, room)
	b[copy(b, path)] = 0
	return sqlite3.SQLITE_OK
}

// sleep sleeps by the clock of Go, which a test may have in its hand.
func sleep(_ *libc.TLS, _ uintptr, micros int32) int32 {
	time.Sleep(time.Duration(micros) * time.Microsecond)
	return micros
}

// julian writes the time in milliseconds since noon of the day that Julian days
// are counted from.
func julian(_ *libc.TLS, _, out uintptr) int32 {
	const epoch = 24405875 * 8640000 // of Unix
	*(*int64)(at(out)) = epoch + time.Now().UnixMilli()
	return sqlite3.SQLITE_OK
}
