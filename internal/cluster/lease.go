package cluster

import (
	"errors"
	"sync/atomic"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A lease says until when a worker may begin requests, by its own clock. It is never set back:
// an answer that comes late cannot take from a worker what a later one gave.
type lease struct {
	count clock.Count  // a machine that slept has slept over its tasks
	until atomic.Int64 // of the count
}

func newLease() *lease { return &lease{count: clock.Begin()} }

// now returns how late it is by the count.
func (r *lease) now() time.Duration { return r.count.Now() }

// give takes in a pong.
func (r *lease) give(p pongMessage) {
	until := int64(p.At + p.Right)
	for {
		had := r.until.Load()
		if until <= had || r.until.CompareAndSwap(had, until) {
			return
		}
	}
}

// errNoLease is what a request gets that may not begin.
var errNoLease = &freshet.FetchError{
	Class: failure.LocalUnsure, Err: errors.New("the request was not sent: this worker has not heard from the leader in time"),
}

// check returns an error if no request may begin now.
func (r *lease) check() error {
	if int64(r.now()) < r.until.Load() {
		return nil
	}
	return errNoLease
}
