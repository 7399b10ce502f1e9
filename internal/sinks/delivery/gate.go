package delivery

import (
	"fmt"
	"hash/fnv"
	"time"
)

const (
	newsworthy  = 2 // failures running before a sink is shown as failing
	patience    = 3 // failures running before an endpoint is sent less
	firstClosed = time.Second
	mostClosed  = time.Minute
)

// A gate bounds what a failing endpoint is sent. After a few failures running
// only one attempt is under way at a time and the gate stays closed for a
// while after each, so that a thousand deliveries do not become a thousand requests
// to a server that is down. The zero gate is open.
type gate struct {
	failures int       // running
	opens    time.Time // closed until then
}

// width returns how many of at most workers attempts may be under way at now.
func (g *gate) width(now time.Time, workers int) int {
	switch {
	case now.Before(g.opens):
		return 0
	case g.failures >= patience:
		return 1
	}
	return workers
}

// failed notes a failed attempt, after which the endpoint asked us to stay
// away for a while.
func (g *gate) failed(now time.Time, away time.Duration) {
	g.failures++
	closed := away
	if g.failures >= patience {
		doublings := min(g.failures-patience, 10)
		closed = max(away, min(firstClosed<<doublings, mostClosed))
	}
	if opens := now.Add(closed); opens.After(g.opens) {
		g.opens = opens
	}
}

// rest closes the gate for a moment, for a reason of our own.
func (g *gate) rest(now time.Time) {
	if opens := now.Add(firstClosed); opens.After(g.opens) {
		g.opens = opens
	}
}

// succeeded notes an accepted delivery and reports whether the endpoint had
// been failing until then.
func (g *gate) succeeded() (recovered bool) {
	recovered = g.failures >= patience
	*g = gate{}
	return recovered
}

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
