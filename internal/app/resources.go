package app

import (
	"os"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/daemon"
	"freshet/internal/daemon/membudget"
	"freshet/internal/sched"
)

const mib = 1 << 20

// ExtractMemory is the most that a child process may use to apply selectors.
const ExtractMemory = 256 * mib

// extractMemory returns what a child process may use on this machine: an eighth
// of what there is, as there are two of them.
func extractMemory() int64 {
	total, _ := membudget.Machine(os.DirFS("/"))
	if total == 0 {
		return ExtractMemory
	}
	return min(ExtractMemory, max(64*mib, total/8))
}

// MemoryLimit returns the memory in bytes near which the garbage collector of a
// daemon has to work harder, or zero if nobody knows what there is.
func MemoryLimit() int64 {
	total, _ := membudget.Machine(os.DirFS("/"))
	return total / 10 * 9
}

// PollMemory returns how many bytes polls under way may hold together if nothing
// is set: a quarter of what there is, and not more than half of what is free.
func PollMemory() int64 {
	const least, most, unknown = 64 * mib, 1024 * mib, 512 * mib
	total, free := membudget.Machine(os.DirFS("/"))
	if total == 0 {
		return unknown
	}
	return min(most, max(least, min(total/4, free/2)))
}

// pollMemory returns the memory that polls share. Three quarters of the workers
// may wait for it: the rest go on with small pages.
func pollMemory(s config.Settings) *membudget.Budget {
	bytes := s.Memory
	if bytes <= 0 {
		bytes = PollMemory()
	}
	workers := s.Limits.Workers
	if workers <= 0 {
		workers = sched.DefaultLimits().Workers
	}
	return membudget.New(membudget.Config{
		Bytes: bytes, Worst: daemon.Need(s.Fetch.MaxBody()), Small: daemon.Need(256 << 10),
		Waiters: max(1, workers*3/4), Wait: 3 * time.Minute,
	})
}
