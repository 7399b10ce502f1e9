//go:build unix

package extract

import (
	"syscall"
	"time"
)

// worked returns how much processor time this process has taken.
func worked() (time.Duration, bool) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0, false
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), true
}
