package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"freshet/internal/units"
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
// it did, and whether that is known.
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

// DiskConfig says how to watch the disk of the store.
type DiskConfig struct {
	// Space returns how many bytes are free where the store is and how large
	// that disk is, and Size how large the store is. Nil means not to look.
	Space func() (free, size int64, err error)
	Size  func() (int64, error)

	// Reserve is how many bytes are kept free: no polls begin when less is. 0
	// means what DefaultReserve says, and less that nothing is kept.
	Reserve int64
}

// A spaceWatch watches the free space of the disk. While it is low no polls begin: the
// results of polls under way and edits can still be stored.
type spaceWatch struct {
	cfg    DiskConfig
	loop   *loop
	limits *limits
	log    *slog.Logger

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

// set notes how much is free and reports whether that has become low, or has
// ceased to be. It is low below the reserve, and until a tenth more is free
// again, so that polls do not stop and begin at every look.
func (s *spaceWatch) set(free, size, reserve int64) (turned bool) {
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
func (s *spaceWatch) sample(at time.Time, size int64) {
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

// now returns the state of the disk, and whether it is known.
func (s *spaceWatch) now() (Disk, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disk, s.known
}

// trouble says why no polls begin, if the disk is why.
func (s *spaceWatch) trouble() string {
	d, _ := s.now()
	if !d.Low {
		return ""
	}
	return fmt.Sprintf("the disk is nearly full: %s free, and at least %s must stay free (reserve); polling stops until there is more space", roughly(d.Free), roughly(d.Reserve))
}

// roughly writes a size for people, in whole kibibytes or mebibytes.
func roughly(n int64) string {
	if n >= 10<<20 {
		return units.FormatSize(n >> 20 << 20)
	}
	return units.FormatSize(n >> 10 << 10)
}

// Run looks at the disk from time to time until ctx is done.
func (s *spaceWatch) Run(ctx context.Context) error {
	for s.cfg.Space != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
			s.look()
		}
	}
	return nil
}

// look looks at the disk once, and stops polls or lets them go on.
func (s *spaceWatch) look() {
	if s.cfg.Space == nil || s.cfg.Reserve < 0 {
		return
	}
	free, size, err := s.cfg.Space()
	if err != nil {
		return // this system cannot tell
	}
	if s.cfg.Size != nil {
		if n, err := s.cfg.Size(); err == nil {
			s.sample(s.loop.dates.Now(), n)
		}
	}
	if !s.set(free, size, s.cfg.Reserve) {
		return
	}
	why := s.trouble()
	if why != "" {
		s.log.Error(why, "hint", "free some disk space, keep less history (keep.total), or set a smaller reserve")
	} else {
		s.log.Info("there is enough disk space again; polling continues")
	}
	s.limits.pause(why != "")
}
