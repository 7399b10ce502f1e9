package diskfault

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Memory is a disk whose files live in memory. What has not been synced is
// kept apart from what has, so that the power can fail at any moment.
//
// It is strict. A sync makes the bytes of one file safe, and not the name under
// which it was made or deleted: that takes a sync of the directory, which SQLite
// asks for where it has to. After a sync has failed, what was to be synced may
// be gone although reads still show it, and no later sync brings it back: that
// is how Linux does it.
type Memory struct {
	hooked

	mu       sync.Mutex
	rng      *rand.Rand
	names    map[string]*inode // as they are now
	safe     map[string]*inode // as they are on the platter
	renames  []naming          // what leads from safe to names
	running  *process          // nil: none
	all      []*process
	capacity int64 // bytes; 0 means no end
}

// A naming is a name given to a file, or taken from it if there is none.
type naming struct {
	name string
	file *inode
}

// NewMemory returns an empty disk whose chance comes from rng, which it alone
// uses from now on.
func NewMemory(rng *rand.Rand) *Memory {
	return &Memory{rng: rng, names: map[string]*inode{}, safe: map[string]*inode{}}
}

// Start begins a process that uses the disk, and returns the name of the VFS by
// which it does. The process before it is ended, as by Kill.
func (m *Memory) Start() (vfs string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
	p := &process{disk: m, handles: map[uintptr]*handle{}}
	if p.vfs, err = register(p.plan()); err != nil {
		return "", err
	}
	m.running = p
	m.all = append(m.all, p)
	return p.vfs.name, nil
}

// Close has SQLite forget the disk. All that was opened on it must have been
// closed.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, p := range m.all {
		errs = append(errs, p.vfs.close())
	}
	m.all = nil
	return errors.Join(errs...)
}

// SetCapacity sets how many bytes fit. 0 means that there is no end.
func (m *Memory) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Used returns how many bytes the files take.
func (m *Memory) Used() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used()
}

func (m *Memory) used() (n int64) {
	for _, f := range m.names {
		n += int64(len(f.data))
	}
	return n
}

// Copy returns what is in the files now, by name.
func (m *Memory) Copy() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	files := map[string][]byte{}
	for name, f := range m.names {
		files[name] = slices.Clone(f.data)
	}
	return files
}

// Fill puts files on the disk, synced, in the place of all that was there.
func (m *Memory) Fill(files map[string][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
	m.names, m.renames = map[string]*inode{}, nil
	for name, data := range files {
		m.names[name] = &inode{data: slices.Clone(data), safe: slices.Clone(data)}
	}
	m.safe = maps.Clone(m.names)
}

// Kill ends the process, as a signal does: whatever it still asks for fails, its
// locks are gone, and all that it has written is there.
func (m *Memory) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
}

func (m *Memory) kill() {
	m.running = nil
	for _, f := range m.names {
		f.abandon()
	}
	for _, f := range m.safe {
		f.abandon()
	}
}

// PowerLoss ends the process, and of what was not synced it keeps an arbitrary
// part: of each write any of its sectors, or none; of files made, cut and
// deleted those that chance decides.
func (m *Memory) PowerLoss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
	for _, r := range m.survivors() {
		if r.file == nil {
			delete(m.safe, r.name)
		} else {
			m.safe[r.name] = r.file
		}
	}
	m.renames = nil
	m.names = map[string]*inode{}
	for _, name := range slices.Sorted(maps.Keys(m.safe)) {
		f := m.safe[name]
		f.lose(m.rng)
		m.names[name] = f
	}
}

// survivors returns the changes of names that reached the platter without a
// sync.
func (m *Memory) survivors() (kept []naming) {
	for _, r := range m.renames {
		if m.rng.IntN(2) == 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

// name gives a name to a file, or takes it from the one that has it.
func (m *Memory) name(name string, f *inode) {
	if f == nil {
		delete(m.names, name)
	} else {
		m.names[name] = f
	}
	m.renames = append(m.renames, naming{name, f})
}

// syncDir makes the names in a directory safe.
func (m *Memory) syncDir(dir string) {
	m.renames = slices.DeleteFunc(m.renames, func(r naming) bool {
		if path.Dir(r.name) != dir {
			return false
		}
		if r.file == nil {
			delete(m.safe, r.name)
		} else {
			m.safe[r.name] = r.file
		}
		return true
	})
}

// room returns an error if there is no room for so many bytes more.
func (m *Memory) room(more int64) error {
	if m.capacity > 0 && more > 0 && m.used()+more > m.capacity {
		return syscall.ENOSPC
	}
	return nil
}

// Dir returns the files of a directory, to be read.
func (m *Memory) Dir(dir string) fs.FS { return memoryDir{m, strings.TrimSuffix(dir, "/")} }

// A memoryDir is a directory of a Memory.
type memoryDir struct {
	disk *Memory
	dir  string
}

// Open returns a file as it is now.
func (d memoryDir) Open(name string) (fs.File, error) {
	d.disk.mu.Lock()
	defer d.disk.mu.Unlock()
	f := d.disk.names[d.dir+"/"+name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	data := slices.Clone(f.data)
	return &openFile{Reader: bytes.NewReader(data), info: fileInfo{name, int64(len(data))}}, nil
}

// An openFile is a file as it was when it was opened.
type openFile struct {
	*bytes.Reader
	info fileInfo
}

// Stat returns the name and the size.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close does nothing.
func (f *openFile) Close() error { return nil }

// A fileInfo is what is known of a file.
type fileInfo struct {
	name string
	size int64
}

// Name returns the name of the file.
func (i fileInfo) Name() string { return i.name }

// Size returns how many bytes it has.
func (i fileInfo) Size() int64 { return i.size }

// Mode says that the file is one, and may be read.
func (i fileInfo) Mode() fs.FileMode { return 0o600 }

// ModTime returns no time: none is kept.
func (i fileInfo) ModTime() time.Time { return time.Time{} }

// IsDir returns false.
func (i fileInfo) IsDir() bool { return false }

// Sys returns nil.
func (i fileInfo) Sys() any { return nil }
