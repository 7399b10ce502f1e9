package rest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"freshet/internal/units"
)

var (
	// ErrWaited is the cause of a context that ends because a wait is over.
	ErrWaited = errors.New("the wait is over")

	errStopped = fmt.Errorf("the program is stopping: %w", ErrWaited)
)

// WithWait returns a context that ends with ErrWaited after a wait, or with
// errStopped when the program stops.
func (s *Server) WithWait(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, release := s.WithStop(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, ErrWaited)
	return ctx, func() {
		cancel()
		release()
	}
}

// WithStop returns a context that ends with errStopped when the program
// stops.
func (s *Server) WithStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.Stop:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// ParseWait reads a wait parameter. More than the most means the most.
func ParseWait(text string, most time.Duration) (time.Duration, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return 0, Invalid("query.wait", err.Error(), text)
	}
	return min(d, most), nil
}

// ParseDuration reads a length of time. An empty string is no time at all.
func ParseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	return units.ParseDuration(s)
}
