package clock

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Uptime returns how long the machine has been up, the time that it slept
// included, and a name for this time that it is. The name is empty if it cannot
// be told.
func Uptime() (boot string, up time.Duration) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0
	}
	if up = SinceBoot(); up == 0 {
		return "", 0
	}
	return strings.TrimSpace(string(id)), up
}

// SinceBoot returns how long the machine has been up, the time that it slept included;
// zero if that cannot be told.
func SinceBoot() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
