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

// A recorder records polls: that they begin, before the task leaves, and
// how they ended. The store gathers the writes of many polls into one group and
// gives each outcome its place in the log. While the store cannot write, polls
// wait here.
type recorder struct {
	store   freshet.Archive
	log     *slog.Logger
	trouble atomic.Pointer[string] // why the store cannot write, if it cannot
	waits   writeWaits
}

// writeWaits know since when nothing has been written although something is to be: a disk or a
// database that hangs returns no error.
type writeWaits struct {
	mu      sync.Mutex
	pending int
	since   time.Time // the last write, or the first that is pending
}

func (w *writeWaits) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending++; w.pending == 1 {
		w.since = time.Now()
	}
}

// end notes that a write has ended, and whether the store has answered.
func (w *writeWaits) end(answered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending--; answered {
		w.since = time.Now()
	}
}

// waited returns for how long nothing has been written; zero if nothing is to be.
func (w *writeWaits) waited() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == 0 {
		return 0
	}
	return time.Since(w.since)
}

// begin records that a poll begins, and returns what it compares with.
func (r *recorder) begin(ctx context.Context, p freshet.Poll) (head freshet.Head, err error) {
	err = r.write(ctx, "begin a poll", func() (err error) {
		head, err = r.store.Begin(ctx, p)
		return err
	})
	return head, err
}

// hop records that a poll makes one more request.
func (r *recorder) hop(ctx context.Context, p freshet.Poll, at time.Time, host string) error {
	return r.write(ctx, "follow a redirect", func() error { return r.store.Hop(ctx, p, at, host) })
}

// end records how a poll ended. If the store refuses what was captured for
// another reason than that it cannot write, the poll is recorded as failed.
func (r *recorder) end(ctx context.Context, rec freshet.Record) (o freshet.Outcome, c freshet.Change, err error) {
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

// write writes to the store, again and again for as long as the store cannot
// write for a reason that can pass and ctx is not done.
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
