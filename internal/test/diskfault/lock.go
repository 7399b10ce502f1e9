package diskfault

import (
	"slices"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// lock takes a file as far as the other handles let it.
func (p *process) lock(_ *libc.TLS, file uintptr, level int32) int32 {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	h := p.handles[file]
	if p.disk.running != p {
		return sqlite3.SQLITE_IOERR_LOCK
	}
	if h.level >= level {
		return sqlite3.SQLITE_OK
	}
	highest := h.others()
	switch {
	case highest >= sqlite3.SQLITE_LOCK_PENDING:
		return sqlite3.SQLITE_BUSY
	case level > sqlite3.SQLITE_LOCK_SHARED && highest >= sqlite3.SQLITE_LOCK_RESERVED:
		return sqlite3.SQLITE_BUSY
	case level == sqlite3.SQLITE_LOCK_EXCLUSIVE && highest >= sqlite3.SQLITE_LOCK_SHARED:
		h.level = sqlite3.SQLITE_LOCK_PENDING // nobody new comes in
		return sqlite3.SQLITE_BUSY
	}
	h.level = level
	return sqlite3.SQLITE_OK
}

// others returns the highest level that another handle has on the file.
func (h *handle) others() (highest int32) {
	for _, other := range h.file.handles {
		if other != h {
			highest = max(highest, other.level)
		}
	}
	return highest
}

func (p *process) unlock(_ *libc.TLS, file uintptr, level int32) int32 {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	h := p.handles[file]
	h.level = min(h.level, level)
	return sqlite3.SQLITE_OK
}

func (p *process) reserved(_ *libc.TLS, file, out uintptr) int32 {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	h := p.handles[file]
	*(*int32)(at(out)) = libc.Bool32(max(h.level, h.others()) >= sqlite3.SQLITE_LOCK_RESERVED)
	return sqlite3.SQLITE_OK
}

// A shm is the memory that the users of a WAL share, with its locks. SQLite has
// eight.
type shm struct {
	regions []uintptr
	users   []*handle
}

// mapShared gives out a region of the shared memory.
func (p *process) mapShared(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32 {
	h := p.handle(file)
	if err := p.begin(Call{Op: Map, Path: h.path, Offset: int64(region) * int64(size), Size: int(size)}); err != nil {
		return code(Map, err)
	}
	defer p.disk.mu.Unlock()
	if h.shm == nil {
		if h.file.shm == nil {
			h.file.shm = &shm{}
		}
		h.shm = h.file.shm
		h.shm.users = append(h.shm.users, h)
	}
	s := h.shm
	*(*uintptr)(at(out)) = 0
	if int(region) >= len(s.regions) && extend == 0 {
		return sqlite3.SQLITE_OK
	}
	for int(region) >= len(s.regions) {
		address := sqlite3.Xsqlite3_malloc64(tls, uint64(size))
		if address == 0 {
			return sqlite3.SQLITE_NOMEM
		}
		clear(bytesAt(address, size))
		s.regions = append(s.regions, address)
	}
	*(*uintptr)(at(out)) = s.regions[region]
	return sqlite3.SQLITE_OK
}

// lockShared takes or gives back locks on the shared memory.
func (p *process) lockShared(_ *libc.TLS, file uintptr, offset, n, flags int32) int32 {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	h := p.handles[file]
	mask := uint16(1)<<(offset+n) - uint16(1)<<offset
	if flags&sqlite3.SQLITE_SHM_UNLOCK != 0 {
		h.shared &^= mask
		h.own &^= mask
		return sqlite3.SQLITE_OK
	}
	if p.disk.running != p || h.shm == nil {
		return sqlite3.SQLITE_IOERR_SHMLOCK
	}
	for _, other := range h.shm.users {
		if other == h {
			continue
		}
		if other.own&mask != 0 || flags&sqlite3.SQLITE_SHM_EXCLUSIVE != 0 && other.shared&mask != 0 {
			return sqlite3.SQLITE_BUSY
		}
	}
	if flags&sqlite3.SQLITE_SHM_EXCLUSIVE != 0 {
		h.own |= mask
	} else {
		h.shared |= mask
	}
	return sqlite3.SQLITE_OK
}

func (p *process) unmapShared(tls *libc.TLS, file uintptr, _ int32) int32 {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.handles[file].leaveShared(tls)
	return sqlite3.SQLITE_OK
}

// leaveShared gives the shared memory back. The last user frees it.
func (h *handle) leaveShared(tls *libc.TLS) {
	s := h.shm
	if s == nil {
		return
	}
	h.shm, h.shared, h.own = nil, 0, 0
	s.users = slices.DeleteFunc(s.users, func(other *handle) bool { return other == h })
	if len(s.users) > 0 {
		return
	}
	for _, address := range s.regions {
		sqlite3.Xsqlite3_free(tls, address)
	}
	if h.file.shm == s {
		h.file.shm = nil
	}
}

// barrier orders the accesses to shared memory.
func (p *process) barrier(*libc.TLS, uintptr) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
}
