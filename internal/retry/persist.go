// Package retry writes to a store that cannot write for a while, such as one
// on a disk that is full, and goes on reading one that cannot be read for a while.
package retry

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
)

// The pause after a refused write doubles from the first to the longest.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// Run runs what reads from a store and goes on, until it ends, fails for good or ctx is done. A
// store that cannot be read for a while ends it, too, with freshet.ErrStorage: then it is run
// again after a pause, which is the longer the sooner it has ended. Before each pause Run calls
// refused with why.
func Run(ctx context.Context, run func() error, refused func(err error)) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		err := run()
		if !passes(err) || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		refused(err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// passes reports whether an error is one of a store that can do again later what it cannot do now.
func passes(err error) bool {
	return errors.Is(err, freshet.ErrStorage) && !errors.Is(err, freshet.ErrStoreFailed)
}

// Write calls write until it succeeds, fails for good, or ctx is done. Only
// freshet.ErrStorage can pass; any other error is returned as it is, and so is
// freshet.ErrStoreFailed, after which the store writes nothing more. If ctx is
// done Write returns the cause.
//
// Before each pause it calls refused, with how often the store has refused the
// write so far and why.
func Write(ctx context.Context, write func() error, refused func(times int, err error)) error {
	for times, pause := 1, firstPause; ; times, pause = times+1, min(2*pause, longestPause) {
		err := write()
		if !passes(err) {
			return err
		}
		refused(times, err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
