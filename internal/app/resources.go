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

// ExtractMemory is the most memory of a child process that applies selectors.
const ExtractMemory = 256 * mib

// extractMemory returns the memory limit of a child process on this machine: an eighth of the
// memory, as there are two of them.
func extractMemory() int64 {
	total, _ := membudget.Machine(os.DirFS("/"))
	if total == 0 {
		return ExtractMemory
	}
	return min(ExtractMemory, max(64*mib, total/8))
}

// MemoryLimit returns the soft memory limit of a daemon, or zero if the memory size is unknown.
func MemoryLimit() int64 {
	total, _ := membudget.Machine(os.DirFS("/"))
	return total / 10 * 9
}

// PollMemory returns how many bytes running polls may use by default: a quarter of the memory, but
// not more than half of what is free.
func PollMemory() int64 {
	const least, most, unknown = 64 * mib, 1024 * mib, 512 * mib
	total, free := membudget.Machine(os.DirFS("/"))
	if total == 0 {
		return unknown
	}
	return min(most, max(least, min(total/4, free/2)))
}

// pollMemory returns the memory budget of polls. Three quarters of the workers may wait for it; the
// others go on with small pages.
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
