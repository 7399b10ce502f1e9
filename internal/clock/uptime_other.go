//go:build !linux

package clock

import "time"

// Uptime returns nothing: on this system it cannot be told how long the machine
// has been up.
func Uptime() (boot string, up time.Duration) { return "", 0 }

// SinceBoot returns zero, likewise.
func SinceBoot() time.Duration { return 0 }
