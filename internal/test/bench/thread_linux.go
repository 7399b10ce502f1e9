package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns how much CPU time this thread has taken. On a machine that does
// other things as well, it says more than the time on the wall. It asks the clock and
// not getrusage, whose figures may move by whole ticks.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
