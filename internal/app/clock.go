package app

import (
	"context"
	"sync/atomic"
	"time"

	"freshet/internal/clock"
	"freshet/internal/daemon"
	"freshet/internal/store/postgres"
)

// A databaseClock tells the time by the clock of the database, which dates everything in a cluster.
// Every node samples it from the start, because it may be set: a node that takes over has to know
// how long ago its predecessor sent its requests.
type databaseClock struct {
	peers    *postgres.Peers
	offset   atomic.Int64 // database clock minus the clock of this machine
	observed daemon.ObservedClock
}

const (
	clockInterval  = 2 * time.Second
	clockTolerance = time.Second // smaller differences are network delay or drift
)

// now returns the time by the database.
func (c *databaseClock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// read samples the clock of the database. It corrects the offset by more than clockTolerance, or if
// exact is set by any amount.
func (c *databaseClock) read(ctx context.Context, exact bool) error {
	ahead, err := c.peers.Ahead(ctx)
	if err != nil {
		return err
	}
	if exact || (ahead-time.Duration(c.offset.Load())).Abs() > clockTolerance {
		c.offset.Store(int64(ahead))
	}
	if boot, up := clock.Uptime(); boot != "" {
		c.observed.Observe(boot, up, time.Now().Add(ahead))
	}
	return nil
}

// watch samples the clock of the database until ctx is done.
func (c *databaseClock) watch(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		reading, cancel := context.WithTimeout(ctx, clockInterval)
		_ = c.read(reading, first) // the lease reports an unreachable database
		cancel()
		sleep(ctx, clockInterval)
	}
}
