package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
)

// A door lets requests out only while it is sure that the daemon decides, as package fetch does: it looks
// last when there is a connection.
type door struct {
	right func() time.Duration
	dial  time.Duration // how long it takes to connect
	to    string        // where it then leads; "" means nowhere
	takes time.Duration // to get there

	mu   sync.Mutex
	came []time.Time
}

// Fetch implements [freshet.Fetcher].
func (d *door) Fetch(ctx context.Context, req freshet.Request) (freshet.Response, error) {
	if err := req.Leave(ctx, freshet.Hop{URL: req.URL}); err != nil {
		return freshet.Response{URL: req.URL}, err
	}
	time.Sleep(d.dial)
	if d.right() <= 0 {
		return freshet.Response{URL: req.URL}, &freshet.FetchError{Class: failure.LocalUnsure, Err: errors.New("not sent")}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.came = append(d.came, time.Now())
	requests := 1
	if d.to != "" {
		time.Sleep(d.takes)
		if err := req.Leave(ctx, freshet.Hop{URL: d.to}); err != nil {
			return freshet.Response{URL: d.to, Requests: 1}, err
		}
		if d.right() <= 0 {
			return freshet.Response{URL: d.to, Requests: 1}, &freshet.FetchError{Class: failure.LocalUnsure, Err: errors.New("not sent")}
		}
		requests = 2
	}
	return freshet.Response{URL: req.URL, Status: 200, MediaType: "text/plain", Body: []byte("a"), Requests: requests}, nil
}

// While a daemon is not sure that it decides its polls wait, whether they have just been recorded or
// have a connection already. Nothing is sent, no poll fails, and each counts once.
func TestPollsWaitUntilTheDaemonIsSure(t *testing.T) {
	t.Parallel()
	for _, dial := range []time.Duration{time.Millisecond, 1300 * time.Millisecond} {
		t.Run(fmt.Sprint("connects in ", dial), func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				sure := func(at time.Time) bool { return at.Sub(start)%(7*time.Second) < 5*time.Second }
				w := &door{dial: dial, right: func() time.Duration {
					if sure(time.Now()) {
						return time.Second
					}
					return -time.Second
				}}
				limits := sched.Limits{Budget: sched.Budget{Polls: 2, Per: time.Second}}
				store := &faulty{}
				b := begin(t, dir, daemon.Config{Fetcher: w, Lease: w.right, Limits: limits, Store: store}, numbered(5, "https://h%d.example/")...)
				time.Sleep(5 * time.Minute)
				b.stop()
				for _, at := range w.came {
					if !sure(at) {
						t.Errorf("a request left at %v, when nobody was sure", at)
					}
				}
				log := outcomesIn(t, dir)
				for _, o := range log {
					if o.Result == freshet.Failed {
						t.Errorf("a poll failed: %s: %s", o.Failure, o.Err)
					}
					if o.Requests != 1 || !slices.ContainsFunc(w.came, func(at time.Time) bool { return at.Equal(o.Began.Add(dial)) }) {
						t.Errorf("a poll of %d requests is dated %v, when none set out", o.Requests, o.Began)
					}
				}
				if n := store.hops.Load(); n > 0 {
					t.Errorf("%d requests are recorded that are not the first of a poll, want none", n)
				}
				if len(log) != len(w.came) || len(log) < 100 {
					t.Errorf("%d requests were made, and %d polls are recorded", len(w.came), len(log))
				}
			})
		})
	}
}

// A redirect waits, too, until the daemon is sure.
func TestRedirectsWaitUntilTheDaemonIsSure(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &door{to: "https://to.example/", takes: 4 * time.Second}
		w.right = func() time.Duration { return 3*time.Second - time.Since(start)%(6*time.Second) }
		b := begin(t, dir, daemon.Config{Fetcher: w, Lease: w.right}, numbered(1, "https://h%d.example/")...)
		time.Sleep(time.Minute)
		log := b.outcomes(t)
		b.stop()
		for _, o := range log {
			if o.Result == freshet.Failed || o.Requests != 2 {
				t.Errorf("a poll of %d requests ended as %s %s: %s", o.Requests, o.Result, o.Failure, o.Err)
			}
		}
		if len(log) < 5 {
			t.Errorf("%d polls were made", len(log))
		}
	})
}

// A poll does not wait for ever to be sure, since it counts as under way; and when the daemon stops it is
// given up, which says nothing about its source.
func TestPollsDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &door{right: func() time.Duration { return 0 }}
		b := begin(t, dir, daemon.Config{Fetcher: w, Lease: w.right}, numbered(1, "https://h%d.example/")...)
		time.Sleep(200 * time.Second)
		if log := b.outcomes(t); len(log) != 1 || log[0].Failure != failure.LocalUnsure || log[0].Ended.Sub(start) < 3*time.Minute {
			t.Errorf("after 200 s these polls are over: %+v", log)
		}
		stopping := time.Now()
		b.stop()
		if took := time.Since(stopping); took > time.Second {
			t.Errorf("to stop took %v", took)
		}
		if log := outcomesIn(t, dir); len(log) != 1 || len(w.came) != 0 {
			t.Errorf("after the stop %d polls are recorded and %d requests were made, want 1 and none", len(log), len(w.came))
		}
	})
}
