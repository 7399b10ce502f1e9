package delivery

import (
	"fmt"
	"hash/fnv"
	"time"
)

// schedule is how long after a failed attempt the next one is made: the times
// that Standard Webhooks recommends, three days in all.
var schedule = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Attempts is how often a delivery is tried before it is given up.
const Attempts = len(schedule) + 1

// longestWait is longer than any wait between two attempts.
const longestWait = 30 * time.Hour

// wait returns how long to wait after the nth attempt at a delivery, and
// whether there is to be another one. The wait is spread by up to a fifth
// either way, so that deliveries that failed together do not come back
// together; the spread is drawn from the id and the count, and a restart draws
// it the same.
func wait(id string, n int) (time.Duration, bool) {
	if n > len(schedule) {
		return 0, false
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", id, n)
	const steps = 1 << 16
	spread := 0.8 + 0.4*float64(h.Sum32()%steps)/(steps-1)
	return time.Duration(float64(schedule[max(n, 1)-1]) * spread), true
}
