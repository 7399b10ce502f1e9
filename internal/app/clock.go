package app

import (
	"context"
	"sync/atomic"
	"time"

	"freshet/internal/clock"
	"freshet/internal/daemon"
	"freshet/internal/store/postgres"
)

// A databaseClock is the clock of the database, by which all nodes date. Each watches it from its start on: it
// may be set, and a node that takes over has to know how long ago the one before sent its requests.
type databaseClock struct {
	peers    *postgres.Peers
	ahead    atomic.Int64 // of the clock of this machine
	observed daemon.ObservedClock
}

const (
	clockLook  = 2 * time.Second
	clockError = time.Second // less is how long an answer took, or drift
)

// now returns the time by the database.
func (c *databaseClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// look reads the clock of the database. Dates follow it, to the millisecond if that is wanted.
func (c *databaseClock) look(ctx context.Context, exact bool) error {
	ahead, err := c.peers.Ahead(ctx)
	if err != nil {
		return err
	}
	if exact || (ahead-time.Duration(c.ahead.Load())).Abs() > clockError {
		c.ahead.Store(int64(ahead))
	}
	if boot, up := clock.Uptime(); boot != "" {
		c.observed.Observe(boot, up, time.Now().Add(ahead))
	}
	return nil
}

// watch looks at the clock of the database now and then until ctx is done.
func (c *databaseClock) watch(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		looking, cancel := context.WithTimeout(ctx, clockLook)
		_ = c.look(looking, first) // the lease reports a database that cannot be reached
		cancel()
		rest(ctx, clockLook)
	}
}
