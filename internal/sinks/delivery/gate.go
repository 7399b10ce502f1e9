package delivery

import "time"

const (
	patience    = 3 // failures running before an endpoint counts as failing
	firstClosed = time.Second
	mostClosed  = time.Minute
)

// A gate bounds what a failing endpoint is sent. After a few failures running
// only one attempt is under way at a time and the gate stays closed for a
// while after each, so that a thousand debts do not become a thousand requests
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
