package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A Disk is how much room there is where the store is.
type Disk struct {
	Free    int64 // bytes
	Size    int64 // bytes
	Reserve int64 // bytes that are kept free
	Low     bool  // no polls begin, because the reserve would be used

	// Growth is by how many bytes a day the store has grown, measured over
	// Measured; zero as long as that is too short to tell.
	Growth   int64
	Measured time.Duration
}

// DaysLeft returns in how many days the reserve is reached if the store grows as
// it did, and whether that can be told.
func (d Disk) DaysLeft() (float64, bool) {
	if d.Growth <= 0 {
		return 0, false
	}
	return float64(max(0, d.Free-d.Reserve)) / float64(d.Growth), true
}

// DefaultReserve returns how much of a disk is kept free if nothing else is said:
// a fiftieth of it, but at least 256 MiB and at most 4 GiB, and never more than a
// tenth.
func DefaultReserve(size int64) int64 {
	return min(max(size/50, 256<<20), 4<<30, size/10)
}

const (
	lookEvery   = 2 * time.Second  // at the free space
	sampleEvery = time.Minute      // of the size of the store
	sampledFor  = 24 * time.Hour   // at most
	growthAfter = 10 * time.Minute // there are samples enough to tell
)

// A space watches the room on the disk. While it is low no polls begin: what is
// under way can still be put on record, and so can all that people edit.
type space struct {
	mu      sync.Mutex
	disk    Disk
	known   bool // the disk has been looked at
	samples []sizeSample
}

// A sizeSample is how large the store was.
type sizeSample struct {
	at   time.Time
	size int64
}

// take notes how much is free and reports whether that has become low, or has
// ceased to be. It is low below the reserve, and until a tenth more is free
// again, so that polls do not stop and begin at every look.
func (s *space) take(free, size, reserve int64) (turned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reserve == 0 {
		reserve = DefaultReserve(size)
	}
	reserve = max(reserve, 0)
	was := s.disk.Low
	s.known = true
	s.disk.Free, s.disk.Size, s.disk.Reserve = free, size, reserve
	s.disk.Low = free < reserve || was && free < reserve+reserve/10
	return was != s.disk.Low
}

// sample notes how large the store is.
func (s *space) sample(at time.Time, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.samples); n > 0 && at.Sub(s.samples[n-1].at) < sampleEvery {
		return
	}
	s.samples = append(s.samples, sizeSample{at, size})
	for len(s.samples) > 2 && at.Sub(s.samples[0].at) > sampledFor {
		s.samples = s.samples[1:]
	}
	first := s.samples[0]
	if s.disk.Measured = at.Sub(first.at); s.disk.Measured >= growthAfter {
		s.disk.Growth = int64(float64(size-first.size) / s.disk.Measured.Hours() * 24)
	}
}

// now returns how things stand with the disk, and whether that is known.
func (s *space) now() (Disk, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disk, s.known
}

// trouble says why no polls begin, if the disk is why.
func (s *space) trouble() string {
	d, _ := s.now()
	if !d.Low {
		return ""
	}
	return fmt.Sprintf("the disk is nearly full: %s free, and at least %s must stay free (reserve); polling stops until there is more space", roughly(d.Free), roughly(d.Reserve))
}

// roughly writes a size for people, in whole kibibytes or mebibytes.
func roughly(n int64) string {
	if n >= 10<<20 {
		return freshet.FormatSize(n >> 20 << 20)
	}
	return freshet.FormatSize(n >> 10 << 10)
}

// watchSpace looks at the disk from time to time.
func (d *Daemon) watchSpace(ctx context.Context) {
	for d.cfg.Space != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
			d.lookAtSpace()
		}
	}
}

// lookAtSpace looks at the disk once, and stops polls or lets them go on.
func (d *Daemon) lookAtSpace() {
	if d.cfg.Space == nil || d.cfg.Reserve < 0 {
		return
	}
	free, size, err := d.cfg.Space()
	if err != nil {
		return // nobody can tell here
	}
	if d.cfg.Size != nil {
		if n, err := d.cfg.Size(); err == nil {
			d.space.sample(d.dates.Now(), n)
		}
	}
	if !d.space.take(free, size, d.cfg.Reserve) {
		return
	}
	if why := d.space.trouble(); why != "" {
		d.cfg.Log.Error(why, "hint", "free some disk space, keep less history (keep.total), or set a smaller reserve")
	} else {
		d.cfg.Log.Info("there is enough disk space again; polling continues")
	}
	l := d.inForce()
	d.inbox.post(sched.LimitsSet{Limits: l})
}

// inForce returns the limits that the loop goes by.
func (d *Daemon) inForce() sched.Limits {
	l := d.Limits()
	if disk, _ := d.space.now(); disk.Low {
		l.Workers = -1 // not one
	}
	return l
}
