package cluster

import (
	"errors"
	"sync/atomic"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A right says until when a hand may begin requests, by its own clock. It is never set back:
// an answer that comes late cannot take from a hand what a later one gave.
type right struct {
	count clock.Count  // a machine that slept has slept over its orders
	until atomic.Int64 // of the count
}

func newRight() *right { return &right{count: clock.Begin()} }

// now returns how late it is by the count.
func (r *right) now() time.Duration { return r.count.Now() }

// give takes in a pong.
func (r *right) give(p pongSay) {
	until := int64(p.At + p.Right)
	for {
		had := r.until.Load()
		if until <= had || r.until.CompareAndSwap(had, until) {
			return
		}
	}
}

// errNoRight is what a request gets that may not begin.
var errNoRight = &freshet.FetchError{
	Class: failure.LocalUnsure, Err: errors.New("the request was not sent: this hand has not heard from the brain in time"),
}

// check returns an error if no request may begin now.
func (r *right) check() error {
	if int64(r.now()) < r.until.Load() {
		return nil
	}
	return errNoRight
}
