//go:build !unix

package bench

import "time"

// cpuTime returns zero: how much CPU time was taken is not known here.
func cpuTime() time.Duration { return 0 }
