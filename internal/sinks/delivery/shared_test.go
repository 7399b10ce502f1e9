package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// A slowLog takes a while to say what follows a place, counts how often it is asked, and writes
// down how often a place is put on record.
type slowLog struct {
	store
	reads, places atomic.Int32
}

func (s *slowLog) Changes(ctx context.Context, q freshet.ChangeQuery) ([]freshet.Change, error) {
	s.reads.Add(1)
	found, err := s.store.Changes(ctx, q)
	time.Sleep(10 * time.Millisecond)
	return found, err
}

func (s *slowLog) Advance(ctx context.Context, name string, to sinks.Position, more []sinks.NewDelivery) error {
	s.places.Add(1)
	return s.store.Advance(ctx, name, to, more)
}

// Many sinks share what they read, and each is told of every change that it wants: also of those
// that come while another finds nothing. A sink that wants nothing writes next to nothing.
func TestSinksShareTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		log := &slowLog{store: r.store}
		store := delivery.Shared(r.over(log))
		const receivers, changes = 20, 40
		var told [receivers][]string
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for i := range receivers {
			f, err := delivery.NewFollower(ctx, delivery.FollowerConfig{
				Name: fmt.Sprintf("s%d", i), Store: store,
				Wants:  func(freshet.Change) bool { return i < receivers/2 },
				Render: func(_ context.Context, c freshet.Change) ([]byte, error) { return []byte(c.ID()), nil },
				Send: func(_ context.Context, m sinks.Message) (string, error) {
					told[i] = append(told[i], m.ID)
					return "", nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				if err := f.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		began := log.places.Load()
		var want []string
		for range changes {
			want = append(want, r.capture(page).ID())
			time.Sleep(7 * time.Millisecond) // so that some come while a page is being read
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i := range told {
			if i < receivers/2 && !slices.Equal(told[i], want) {
				t.Errorf("sink %d was told %d changes of %d: %v", i, len(told[i]), len(want), told[i])
			}
		}
		if n := log.reads.Load(); n > receivers*changes/4 {
			t.Errorf("%d sinks read the log %d times for %d changes", receivers, n, changes)
		}
		if n := log.places.Load() - began; n > receivers/2*changes+receivers {
			t.Errorf("places were put on record %d times", n)
		}
		stop()
		running.Wait()
		for i := range receivers { // and their places are on record in the end
			at, err := r.store.Place(t.Context(), fmt.Sprintf("s%d", i))
			if end, _ := r.store.LastChange(t.Context()); err != nil || at.Cursor != end {
				t.Errorf("the place of sink %d is %v, %v, want %d", i, at, err, end)
			}
		}
	})
}

// Who asks for what follows a place is not told that there is nothing because there was nothing
// when another asked.
func TestNothingIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		store := delivery.Shared(r.over(&slowLog{store: r.store}))
		end := r.capture(page).Cursor
		ask := freshet.ChangeQuery{After: end, Limit: 500}
		var asking sync.WaitGroup
		asking.Go(func() {
			if found, err := store.Changes(t.Context(), ask); len(found) > 0 || err != nil {
				t.Errorf("before the change there was %v, %v", found, err)
			}
		})
		time.Sleep(5 * time.Millisecond) // while the first is being told
		c := r.capture(page)
		if found, err := store.Changes(t.Context(), ask); err != nil || len(found) != 1 || found[0].ID() != c.ID() {
			t.Errorf("after the change there is %v, %v", found, err)
		}
		asking.Wait()
	})
}
