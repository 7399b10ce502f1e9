//go:build !linux

package clock

import "time"

// Uptime returns nothing: this system does not say how long the machine has been up.
func Uptime() (boot string, up time.Duration) { return "", 0 }

// SinceBoot returns zero, likewise.
func SinceBoot() time.Duration { return 0 }
