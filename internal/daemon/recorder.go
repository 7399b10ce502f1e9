package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/retry"
)

// A recorder records the beginning of polls, before their tasks are sent, and their ends. The store
// commits many polls together and assigns the places of outcomes in the log. While the store cannot
// write, polls wait here.
type recorder struct {
	store   freshet.Archive
	log     *slog.Logger
	trouble atomic.Pointer[string] // why the store cannot write, if so
	waits   writeWaits
}

// writeWaits measures how long pending writes have made no progress. A disk or database that hangs
// returns no error.
type writeWaits struct {
	mu      sync.Mutex
	pending int
	since   time.Time // last write, or start of the first pending one
}

func (w *writeWaits) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending++; w.pending == 1 {
		w.since = time.Now()
	}
}

// end records the end of a write, and whether the store answered.
func (w *writeWaits) end(answered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending--; answered {
		w.since = time.Now()
	}
}

// waited returns how long pending writes have made no progress, or zero if none is pending.
func (w *writeWaits) waited() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == 0 {
		return 0
	}
	return time.Since(w.since)
}

// begin records the beginning of a poll and returns the head to compare with.
func (r *recorder) begin(ctx context.Context, p freshet.Poll) (head freshet.Head, err error) {
	err = r.write(ctx, "begin a poll", func() (err error) {
		head, err = r.store.Begin(ctx, p)
		return err
	})
	return head, err
}

// hop records another request of a poll.
func (r *recorder) hop(ctx context.Context, p freshet.Poll, at time.Time, host string) error {
	return r.write(ctx, "follow a redirect", func() error { return r.store.Hop(ctx, p, at, host) })
}

// lastWrite is how long a poll that ends when the grace is over waits to be recorded.
const lastWrite = time.Second

// end records the end of a poll. If the store rejects the capture, although it can write, the poll
// is recorded as failed.
func (r *recorder) end(ctx context.Context, rec freshet.Record) (o freshet.Outcome, c freshet.Change, err error) {
	if ctx.Err() != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
		defer cancel()
		ctx = last
	}
	commit := func() (err error) {
		o, c, err = r.store.Commit(ctx, rec)
		return err
	}
	err = r.write(ctx, "commit a poll", commit)
	if err == nil || errors.Is(err, freshet.ErrNotFound) || ctx.Err() != nil {
		return o, c, err
	}
	rec.Outcome.Result, rec.Outcome.Failure = freshet.Failed, failure.Internal
	rec.Outcome.Err = fmt.Sprintf("commit: %v", err)
	rec.Capture, rec.Noise, rec.Items, rec.Outcome.LookAgain = nil, nil, nil, 0
	rec.Outcome.Dates, rec.Outcome.Word, rec.Outcome.Foretold = nil, nil, nil
	err = r.write(ctx, "commit a failed poll", commit)
	return o, c, err
}

// write writes to the store, and retries until ctx is done while the error may pass.
func (r *recorder) write(ctx context.Context, doing string, write func() error) error {
	r.waits.begin()
	err := retry.Write(ctx, write, func(_ int, err error) {
		why := err.Error()
		if r.trouble.Swap(&why) == nil {
			r.log.Error("the data cannot be written; polling stops until it can", "doing", doing, "err", err, "hint", freshet.HintOf(err))
		}
	})
	if err == nil && r.trouble.Load() != nil && r.trouble.Swap(nil) != nil {
		r.log.Info("the data can be written again; polling continues")
	}
	r.waits.end(ctx.Err() == nil)
	return err
}
