package cluster

import (
	"errors"
	"sync/atomic"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A lease is the time until which a worker may begin requests, by its own clock. It never gets
// shorter: a delayed pong has no effect after a newer one.
type lease struct {
	clock clock.Count  // includes the time that the machine was suspended
	until atomic.Int64 // by the clock
}

func newLease() *lease { return &lease{clock: clock.Begin()} }

// now returns the time by the clock of the lease.
func (r *lease) now() time.Duration { return r.clock.Now() }

// extend extends the lease by a pong.
func (r *lease) extend(p pongMessage) {
	until := int64(p.At + p.Right)
	for {
		had := r.until.Load()
		if until <= had || r.until.CompareAndSwap(had, until) {
			return
		}
	}
}

// errNoLease is the error of a request that may not begin.
var errNoLease = &freshet.FetchError{
	Class: failure.LocalUnsure, Err: errors.New("the request was not sent: the lease of this worker is over"),
}

// check returns an error if no request may begin now.
func (r *lease) check() error {
	if int64(r.now()) < r.until.Load() {
		return nil
	}
	return errNoLease
}
