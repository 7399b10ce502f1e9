//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime returns how much CPU time this process has taken, its children not
// counted.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
