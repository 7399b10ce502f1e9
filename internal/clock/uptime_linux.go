package clock

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Uptime returns how long the machine has been up, the time that it slept
// included, and the ID of this boot. The ID is empty if the system has none.
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
// zero if that is not known.
func SinceBoot() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
