// Package persist writes to a store that cannot write for a while, such as one
// on a disk that is full.
package persist

import (
	"context"
	"errors"
	"time"

	"freshet"
)

// The pause after a refused write doubles from the first to the longest.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

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
		if !errors.Is(err, freshet.ErrStorage) || errors.Is(err, freshet.ErrStoreFailed) {
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
