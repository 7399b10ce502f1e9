package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// Deliveries that failed together come back at different times, and so do the
// attempts at one of them.
func TestFollowerSpreadsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		waits := map[string][]time.Duration{} // by change, less than its place in the schedule says
		last := map[string]time.Time{}
		r.answers(func(e client.Event) error {
			if at, again := last[e.ID]; again {
				waits[e.ID] = append(waits[e.ID], time.Since(at))
			}
			last[e.ID] = time.Now()
			if len(last)%2 == 0 { // every other is accepted, so that the gate stays open
				return nil
			}
			return errDown
		})
		stop := r.follow(func(c *delivery.FollowerConfig) { c.Workers = 1 })
		for range 40 {
			r.captureNew()
			synctest.Wait()
		}
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		early, late, all := 0, 0, map[time.Duration]bool{}
		for _, w := range waits {
			all[w[0]] = true
			switch {
			case w[0] < 4500*time.Millisecond:
				early++
			case w[0] > 5500*time.Millisecond:
				late++
			}
		}
		if len(all) < 15 || early < 2 || late < 2 {
			t.Errorf("20 deliveries that failed came back after %d different waits, %d of them early and %d late", len(all), early, late)
		}
	})
}

// An endpoint is not sent more at once than it has workers.
func TestFollowerWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var mu sync.Mutex
		flying, most := 0, 0
		stop := r.follow(func(c *delivery.FollowerConfig) {
			c.Workers = 3
			c.Send = func(ctx context.Context, m sinks.Message) (string, error) {
				mu.Lock()
				flying++
				most = max(most, flying)
				wait := time.Duration(len(m.ID)) * time.Second // so that they do not end together
				mu.Unlock()
				time.Sleep(wait)
				mu.Lock()
				flying--
				mu.Unlock()
				return r.Send(ctx, m)
			}
		})
		r.captureNew()
		synctest.Wait()
		for range 20 {
			r.captureNew()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if most != 3 || len(r.accepted()) != 21 {
			t.Errorf("%d changes were delivered, at most %d at once, want 21 and 3", len(r.accepted()), most)
		}
	})
}

// How long an endpoint asks to be left alone is kept through a restart, and is
// kept when it has been failing too.
func TestFollowerRetryAfterHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return &sinks.Refusal{Status: 503, RetryAfter: 3 * time.Hour} })
		stop := r.follow(nil)
		r.captureNew()
		time.Sleep(time.Hour)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		stop = r.follow(nil)
		time.Sleep(2*time.Hour - time.Nanosecond)
		if got := len(r.sendings()); got != 1 {
			t.Errorf("%d attempts before the time that the endpoint asked for, want 1", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := len(r.sendings()); got != 2 {
			t.Errorf("%d attempts at that time, want 2", got)
		}

		// Two more make it an endpoint that fails. What it asks for is longer
		// than the minute that it would be left alone for.
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		r.captureNew()
		synctest.Wait()
		if got := len(r.sendings()); got != 3 {
			t.Errorf("%d attempts after 6 hours, want 3", got)
		}
		time.Sleep(3*time.Hour - time.Nanosecond)
		if got := len(r.sendings()); got != 3 {
			t.Errorf("%d attempts before 9 hours, want 3", got)
		}
		time.Sleep(time.Minute)
		r.captureNew()
		time.Sleep(3*time.Hour - time.Minute - time.Nanosecond)
		if got := len(r.sendings()); got != 5 {
			t.Errorf("%d attempts before 12 hours, want 5: both changes at 9 hours", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// After exactly three failures running an endpoint counts as failing, so that
// its next success releases all that it is owed.
func TestFollowerReleases(t *testing.T) {
	for failures, want := range map[int]int{2: 1, 3: 4, 4: 5} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				r.answers(func(client.Event) error { return errDown })
				stop := r.follow(func(c *delivery.FollowerConfig) { c.Workers = 1 })
				for range failures {
					r.captureNew()
					synctest.Wait()
					time.Sleep(1100 * time.Millisecond) // less than a retry waits, more than the gate
				}
				r.answers(func(client.Event) error { return nil })
				r.captureNew()
				synctest.Wait()
				if failures > 3 { // the gate has to open first
					time.Sleep(time.Second)
					synctest.Wait()
				}
				if got := len(r.accepted()); got != want {
					t.Errorf("%d changes accepted at once after %d failures, want %d", got, failures, want)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// outage returns a rig whose sink owes n deliveries, none of them due for ten
// hours, and has just failed three times running. It answers again as answer
// says, and waits for the release that the first success brings.
func (r *rig) outage(n int, answer func(client.Event) error) (stop func() error) {
	r.t.Helper()
	var owed []freshet.Change
	var messages []sinks.NewDelivery // as they were owed before their bytes were kept
	for range n {
		c := r.captureNew()
		owed, messages = append(owed, c), append(messages, sinks.NewDelivery{Cursor: c.Cursor})
	}
	if err := r.store.Advance(r.t.Context(), "sink", sinks.PositionOf(owed[n-1]), messages); err != nil {
		r.t.Fatal(err)
	}
	for _, c := range owed {
		err := r.store.Postpone(r.t.Context(), "sink", sinks.PendingDelivery{Change: c, Attempts: 5, Due: time.Now().Add(10 * time.Hour), Err: "down"})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.answers(func(client.Event) error { return errDown })
	stop = r.follow(func(c *delivery.FollowerConfig) { c.Workers = 1 })
	for range 3 {
		r.captureNew()
		synctest.Wait()
	}
	r.answers(answer)
	time.Sleep(7 * time.Second) // until the first of the three is tried again
	synctest.Wait()
	return stop
}

// What an endpoint refuses again after it has recovered goes back to its own
// schedule, and is not tried over and over.
func TestFollowerReleaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var poisoned atomic.Int64
		stop := r.outage(10, func(e client.Event) error {
			if e.ID == "page7.1~rig" {
				poisoned.Add(1)
				return &sinks.Refusal{Status: 500}
			}
			return nil
		})
		time.Sleep(time.Minute) // for those of the last three that were not due yet
		synctest.Wait()
		if got := len(r.accepted()); got != 12 || poisoned.Load() != 1 {
			t.Errorf("%d changes accepted and one refused %d times, want the 12 that the endpoint can take and once", got, poisoned.Load())
		}
		time.Sleep(7 * time.Hour)
		synctest.Wait()
		if poisoned.Load() != 1 {
			t.Errorf("the change that is refused was tried %d times in 7 hours, want once: it is due 10 hours later", poisoned.Load())
		}
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		if poisoned.Load() != 2 {
			t.Errorf("the change that is refused was tried %d times in 13 hours, want twice", poisoned.Load())
		}
		r.owes(1, 0)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// What is refused again in a release comes when it is due, also if the sink always has
// something under way, so that the release does not end.
func TestFollowerReleaseOfABusySink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var down atomic.Bool
		down.Store(true)
		var poison atomic.Value
		var tried atomic.Int64
		stop := r.follow(func(c *delivery.FollowerConfig) {
			c.Workers = 3
			c.Send = func(_ context.Context, m sinks.Message) (string, error) {
				switch {
				case down.Load():
					return "", errDown
				case m.ID == poison.Load() && tried.Add(1) == 1:
					return "", &sinks.Refusal{Status: 503}
				case m.ID == poison.Load():
					return "", nil
				}
				time.Sleep(90 * time.Second) // so that the next one begins before this one ends
				return "", nil
			}
		})
		poison.Store(r.captureNew().ID())
		for range 3 {
			r.captureNew()
			synctest.Wait()
			time.Sleep(1100 * time.Millisecond)
		}
		down.Store(false)
		for range 2 * 60 {
			r.captureNew()
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if tried.Load() < 2 {
			t.Errorf("what was refused after the recovery was tried %d times in two hours, want once more", tried.Load())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A release is called off when too much of it is refused again.
func TestFollowerReleaseIsCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		answered := 0
		stop := r.outage(300, func(client.Event) error {
			// Two of three are refused: never three running, so the gate stays open.
			if answered++; answered%3 == 1 {
				return nil
			}
			return &sinks.Refusal{Status: 500}
		})
		if answered != 152 { // 51 accepted, and 101 refused
			t.Errorf("%d attempts after the recovery, want 152 until the release is called off", answered)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// What became of an attempt is told, and is on record.
func TestFollowerTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var told []delivery.Delivery
		observe := func(c *delivery.FollowerConfig) {
			c.Workers, c.Endpoint = 1, "http://one.example/"
			c.Observe = func(d delivery.Delivery) { told = append(told, d) }
			c.Send = func(ctx context.Context, m sinks.Message) (string, error) {
				time.Sleep(3 * time.Second)
				return r.Send(ctx, m)
			}
		}
		r.answers(func(client.Event) error { return errDown })
		r.follow(observe)
		c := r.capture(page)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		pending, _, err := r.store.DueDeliveries(t.Context(), "sink", time.Now().Add(time.Hour), 10)
		if err != nil || len(pending) != 1 || pending[0].Attempts != 1 || pending[0].Err != errDown.Error() {
			t.Errorf("after one attempt the pending deliveries are %+v (%v)", pending, err)
		}
		r.answers(func(client.Event) error { return &sinks.Refusal{Status: 410} })
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(told) != 2 {
			t.Fatalf("%d attempts were told of, want 2", len(told))
		}
		for i, d := range told {
			if d.Sink != "sink" || d.ID != c.ID() || d.Attempt != i+1 || d.Took != 3*time.Second || d.Err == nil || d.GivenUp != (i == 1) {
				t.Errorf("attempt %d was told of as %+v", i+1, d)
			}
		}
		r.owes(0, 1)
	})
}

// A delivery that was accepted counts, although the follower is being stopped.
func TestFollowerSettlesWhileItStops(t *testing.T) {
	t.Run("before it is noted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			defer r.close()
			stop := r.follow(func(c *delivery.FollowerConfig) {
				c.Send = func(ctx context.Context, m sinks.Message) (string, error) {
					<-ctx.Done() // the endpoint accepts what it has, all the same
					return r.Send(ctx, m)
				}
			})
			r.capture(page)
			synctest.Wait()
			if err := stop(); err != nil {
				t.Errorf("the follower ended with %v", err)
			}
			if len(r.accepted()) != 1 {
				t.Errorf("%d changes accepted, want 1", len(r.accepted()))
			}
			r.owes(0, 0)
		})
	})
	t.Run("while it is noted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			defer r.close()
			ctx, cancel := context.WithCancel(t.Context())
			f, err := delivery.NewFollower(ctx, delivery.FollowerConfig{Name: "sink", Render: render, Send: r.Send, Store: r.over(&stoppedStore{r.store, cancel})})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- f.Run(ctx) }()
			r.capture(page)
			if err := <-ended; err != nil {
				t.Errorf("the follower ended with %v", err)
			}
			r.owes(0, 0)
		})
	})
}

// A stoppedStore stops the program when a delivery is to be settled.
type stoppedStore struct {
	store
	stop func()
}

func (s *stoppedStore) Settle(ctx context.Context, reader string, at ...sinks.Position) error {
	s.stop()
	return s.store.Settle(ctx, reader, at...)
}

// A store that fails for good ends the run, with what was being done.
func TestFollowerEndsWithItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		broken := fmt.Errorf("sync: %w: %w", freshet.ErrStoreFailed, freshet.ErrStorage)
		stop := r.follow(func(c *delivery.FollowerConfig) { c.Store = r.over(&brokenStore{r.store, broken}) })
		r.capture(page)
		synctest.Wait()
		if err := stop(); !errors.Is(err, freshet.ErrStoreFailed) {
			t.Errorf("the follower ended with %v, want %v", err, broken)
		}
		if got := r.accepted(); !slices.Equal(got, []string{"page.1~rig"}) {
			t.Errorf("accepted %v, want the one change", got)
		}
		r.owes(1, 0) // and will be sent again
	})
}

// A brokenStore settles nothing.
type brokenStore struct {
	store
	err error
}

func (s *brokenStore) Settle(context.Context, string, ...sinks.Position) error { return s.err }

// A message that cannot be made because the database cannot be read waits until it can.
func TestFollowerWaitsForItsArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		archive := &unreadStore{r.store, 3}
		stop := r.follow(func(c *delivery.FollowerConfig) {
			c.Render = func(ctx context.Context, change freshet.Change) ([]byte, error) {
				change.Label.Name = "" // so that the title is read
				shown, _, err := delivery.Shown(ctx, archive, change)
				if err != nil {
					return nil, err
				}
				return render(ctx, shown)
			}
		})
		r.capture(page)
		time.Sleep(time.Hour)
		if got := r.accepted(); !slices.Equal(got, []string{"page.1~rig"}) || archive.failures > 0 {
			t.Errorf("accepted %v with %d failures to come, want the one change", got, archive.failures)
		}
		r.owes(0, 0)
		if err := stop(); err != nil {
			t.Errorf("the follower ended with %v", err)
		}
	})
}

// An unreadStore cannot read versions a few times.
type unreadStore struct {
	store
	failures int
}

func (s *unreadStore) Versions(ctx context.Context, id freshet.SourceID, in freshet.Between, before, limit int) ([]freshet.Version, error) {
	if s.failures > 0 {
		s.failures--
		return nil, fmt.Errorf("connection reset: %w", freshet.ErrStorage)
	}
	return s.store.Versions(ctx, id, in, before, limit)
}

// What a node does not send because another may decide by now is no attempt: it is sent in a moment,
// and the receiver does not count as failing.
func TestUnsureNodeMakesNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		began := time.Now()
		r.answers(func(client.Event) error {
			if time.Since(began) < 10*time.Second {
				return fmt.Errorf("post: %w", &freshet.FetchError{Class: failure.LocalHand, Err: errors.New("not sent")})
			}
			return nil
		})
		stop := r.follow(nil)
		r.capture(page)
		time.Sleep(9500 * time.Millisecond)
		pending, _, err := r.store.DueDeliveries(t.Context(), "sink", time.Now().Add(time.Hour), 10)
		if err != nil || len(pending) != 1 || pending[0].Attempts != 0 || pending[0].Err != "" {
			t.Errorf("%+v is owed: %v", pending, err)
		}
		time.Sleep(2 * time.Second)
		if got := r.accepted(); len(got) != 1 {
			t.Errorf("%v was accepted", got)
		}
		if n := len(r.sendings()); n < 5 || n > 12 {
			t.Errorf("it was tried %d times in 10 s", n)
		}
		stop()
	})
}
