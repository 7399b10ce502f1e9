//go:build unix

package torture

import (
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"time"

	"freshet/internal/test/diskfault"
)

// An ill is what a disk does wrong.
type ill string

// The ills of a disk.
const (
	well         ill = "well"
	full         ill = "full"   // no write finds room
	halves       ill = "halves" // writes find room for their first half
	refusesWrite ill = "write"  // the next write fails
	refusesSync  ill = "sync"   // the next sync fails
	slow         ill = "slow"
	powerless    ill = "powerless" // the process ends, and any part of what was not synced is gone
)

// A sickDisk is the machine's file system as SQLite sees it, with ills.
type sickDisk struct {
	files *diskfault.Files

	mu   sync.Mutex
	ill  ill
	skip int // operations that go well yet
	undo map[string][]overwrite
	dead bool
}

// An overwrite is what a write or a cut took away, until it is synced.
type overwrite struct {
	at   int64
	was  []byte
	size int64 // of the file before
}

func newSickDisk() (*sickDisk, error) {
	files, err := diskfault.NewFiles()
	if err != nil {
		return nil, err
	}
	d := &sickDisk{files: files, ill: well, undo: map[string][]overwrite{}}
	files.SetHook(d.ask)
	return d, nil
}

// fall makes the disk ill after some operations more.
func (d *sickDisk) fall(i ill, skip int) {
	d.mu.Lock()
	d.ill, d.skip = i, skip
	d.mu.Unlock()
}

// ask is called before each operation.
func (d *sickDisk) ask(c diskfault.Call) error {
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		select {} // the power is gone
	}
	ill := d.ill
	if changes := c.Op == diskfault.Write || c.Op == diskfault.Sync || c.Op == diskfault.Truncate; !changes {
		ill = well
	} else if d.skip > 0 {
		d.skip--
		ill = well
	}
	if ill == powerless {
		d.dead = true
		d.mu.Unlock()
		d.losePower()
	}
	err := fate(ill, c.Op)
	if err == nil || ill == halves {
		d.remember(c)
	}
	d.mu.Unlock()
	if ill == slow {
		time.Sleep(time.Duration(5+c.Size%20) * time.Millisecond)
	}
	return err
}

// fate returns how an operation that changes files goes.
func fate(i ill, op diskfault.Op) error {
	switch {
	case i == full && op == diskfault.Write:
		return syscall.ENOSPC
	case i == halves && op == diskfault.Write:
		return diskfault.ErrShort
	case i == refusesWrite && op == diskfault.Write, i == refusesSync && op == diskfault.Sync:
		return syscall.EIO
	}
	return nil
}

// remember keeps what an operation takes away. A sync makes it final: whether
// power is lost before or during it, both are allowed.
func (d *sickDisk) remember(c diskfault.Call) {
	switch c.Op {
	case diskfault.Sync:
		delete(d.undo, c.Path)
	case diskfault.Write, diskfault.Truncate:
		if o, ok := taken(c); ok {
			d.undo[c.Path] = append(d.undo[c.Path], o)
		}
	}
}

// taken returns what an operation takes away from a file.
func taken(c diskfault.Call) (o overwrite, ok bool) {
	f, err := os.Open(c.Path)
	if err != nil {
		return o, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return o, false
	}
	o = overwrite{at: c.Offset, size: info.Size()}
	length := int64(c.Size)
	if c.Op == diskfault.Truncate {
		length = o.size - c.Offset
	}
	o.was = make([]byte, max(length, 0))
	n, err := f.ReadAt(o.was, c.Offset)
	if err != nil && err != io.EOF {
		return o, false
	}
	o.was = o.was[:n]
	return o, true
}

// losePower takes back any part of what was not synced, the newest first, and
// ends the process.
func (d *sickDisk) losePower() {
	time.Sleep(20 * time.Millisecond) // operations let through before may be under way
	chance := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for path, overwrites := range d.undo {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		all := chance.IntN(2) == 0
		for i := len(overwrites) - 1; i >= 0; i-- {
			if !all && chance.IntN(2) == 0 {
				continue
			}
			o := overwrites[i]
			f.WriteAt(o.was, o.at)
			if all {
				f.Truncate(o.size)
			}
		}
		f.Close()
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
