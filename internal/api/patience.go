package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"freshet/internal/freshet"
)

var (
	errWaited  = errors.New("the wait is over")
	errStopped = fmt.Errorf("the program is stopping: %w", errWaited)
)

// patience returns a context that ends with errWaited after a wait, or with
// errStopped when the program stops.
func (a *api) patience(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, release := a.untilStop(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errWaited)
	return ctx, func() {
		cancel()
		release()
	}
}

// untilStop returns a context that ends with errStopped when the program
// stops.
func (a *api) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-a.Stop:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// waitOf reads a wait parameter. More than the most means the most.
func waitOf(s string, most time.Duration) (time.Duration, error) {
	d, err := parseDuration(s)
	if err != nil {
		return 0, invalid("query.wait", err.Error(), s)
	}
	return min(d, most), nil
}

// parseDuration reads a length of time. An empty string is no time at all.
func parseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	return freshet.ParseDuration(s)
}
