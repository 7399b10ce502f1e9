package membudget_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/daemon/membudget"
)

// Shares that grow step by step, each holding what it has while it waits for
// more, never wait for each other for ever, and together never hold more than
// there is.
func TestSharesNeverWaitForEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		cfg := membudget.Config{Worst: rapid.Int64Range(1, 100).Draw(r, "worst"), Small: rapid.Int64Range(0, 20).Draw(r, "small")}
		cfg.Bytes = cfg.Worst * rapid.Int64Range(2, 10).Draw(r, "times")
		steps := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(0, cfg.Worst), 1, 6), 1, 40).Draw(r, "steps")
		synctest.Test(t, func(t *testing.T) {
			b := membudget.New(cfg)
			var held, most atomic.Int64
			var polls sync.WaitGroup
			for _, sizes := range steps {
				polls.Go(func() {
					s, have := b.Share(), int64(0)
					defer func() { held.Add(-have); s.Close() }()
					for _, n := range sizes {
						if n < have { // counted as given back before it is
							held.Add(n - have)
							have = n
						}
						if err := s.Hold(t.Context(), n); err != nil {
							t.Errorf("hold %d: %v", n, err)
						}
						if now := held.Add(n - have); now > most.Load() {
							most.Store(now)
						}
						have = n
						time.Sleep(time.Millisecond)
					}
				})
			}
			polls.Wait() // a bubble whose goroutines all wait for ever panics
			if most.Load() > cfg.Bytes {
				t.Errorf("%d of %d bytes were held", most.Load(), cfg.Bytes)
			}
			if u := b.Use(); u.Held != 0 || u.Turns != 0 || u.Waiting != 0 {
				t.Errorf("at the end the budget stands at %+v", u)
			}
		})
	})
}

func TestSmallSharesPassLargeOnesThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := membudget.New(membudget.Config{Bytes: 1000, Worst: 400, Small: 5})
		ctx, cancel := context.WithCancel(t.Context())
		var waited sync.WaitGroup
		for range 20 {
			waited.Go(func() {
				s := b.Share()
				defer s.Close()
				if s.Hold(ctx, 5) == nil && s.Hold(ctx, 400) == nil {
					<-ctx.Done()
				}
			})
		}
		synctest.Wait()
		if u := b.Use(); u.Waiting == 0 {
			t.Fatalf("20 shares of 400 fit into 1000: %+v", u)
		}
		for range 5 {
			s := b.Share()
			defer s.Close()
			within, done := context.WithTimeout(ctx, time.Second)
			defer done()
			if err := s.Hold(within, 5); err != nil {
				t.Errorf("a small share had to wait behind large ones: %v, %+v", err, b.Use())
			}
		}
		cancel()
		waited.Wait()
	})
}

func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := membudget.New(membudget.Config{Bytes: 100, Worst: 100, Waiters: 1, Wait: time.Minute})
		first := b.Share()
		if err := first.Hold(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		second, third := b.Share(), b.Share()
		failed := make(chan error, 1)
		began := time.Now()
		go func() { failed <- second.Hold(t.Context(), 100) }()
		synctest.Wait()
		if err := third.Hold(t.Context(), 100); !errors.Is(err, membudget.ErrFull) {
			t.Errorf("one more than may wait: %v, want ErrFull", err)
		}
		if err := <-failed; !errors.Is(err, membudget.ErrFull) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v, want ErrFull after a minute", time.Since(began), err)
		}
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("stopped"))
		if err := second.Hold(gone, 100); err == nil || err.Error() != "stopped" {
			t.Errorf("a share whose poll has ended: %v, want the cause", err)
		}
		first.Close()
		if err := second.Hold(t.Context(), 1000); err != nil {
			t.Errorf("more than there is, alone: %v, want it let through", err)
		}
		second.Close()
		if u := b.Use(); u.Held != 0 || u.Turns != 0 {
			t.Errorf("at the end the budget stands at %+v", u)
		}
	})
}
