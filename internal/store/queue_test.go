package store_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/store"
)

// A desk performs batches of a queue only when it is told to.
type desk struct {
	mu      sync.Mutex
	batches []int // sizes
	gate    chan struct{}
}

func (d *desk) perform(jobs []store.Job) []error {
	d.mu.Lock()
	d.batches = append(d.batches, len(jobs))
	d.mu.Unlock()
	<-d.gate
	errs := make([]error, len(jobs))
	for i, job := range jobs {
		errs[i] = job(nil)
	}
	return errs
}

func (d *desk) sizes() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]int(nil), d.batches...)
}

// TestQueue gathers what arrives during one batch into the next, and no more
// than a batch holds.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{gate: make(chan struct{})}
		q := store.NewQueue(4, 0, d.perform)
		var wg sync.WaitGroup
		odd := errors.New("odd")
		run := func(i int) {
			wg.Go(func() {
				err := store.Do(q, t.Context(), func(*store.Batch) error {
					if i%2 == 1 {
						return odd
					}
					return nil
				}, false)
				if want := []error{nil, odd}[i%2]; !errors.Is(err, want) {
					t.Errorf("job %d gives %v, want %v", i, err, want)
				}
			})
			synctest.Wait()
		}
		for i := range 7 {
			run(i)
		}
		for want := 1; want <= 3; want++ {
			if got := d.sizes(); len(got) != want {
				t.Fatalf("%d batches were begun, want %d", len(got), want)
			}
			d.gate <- struct{}{}
			synctest.Wait()
		}
		wg.Wait()
		if got := d.sizes(); got[0] != 1 || got[1] != 4 || got[2] != 2 {
			t.Errorf("the batches had %v jobs, want 1, 4 and 2", got)
		}
	})
}

// TestQueueWithdraw takes a job out of the queue while it can be, and not when
// it is in a batch.
func TestQueueWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{gate: make(chan struct{})}
		q := store.NewQueue(10, 0, d.perform)
		done := make(chan error, 2)
		leading, cancelLeading := context.WithCancel(t.Context())
		waiting, cancelWaiting := context.WithCancel(t.Context())
		ran := 0
		count := func(*store.Batch) error { ran++; return nil }
		go func() { done <- store.Do(q, leading, count, false) }()
		synctest.Wait()
		go func() { done <- store.Do(q, waiting, count, false) }()
		synctest.Wait()

		cancelWaiting()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the job that waited gives %v, want %v", err, context.Canceled)
		}
		cancelLeading()
		synctest.Wait()
		d.gate <- struct{}{}
		if err := <-done; err != nil {
			t.Errorf("the job that was begun gives %v", err)
		}
		if ran != 1 {
			t.Errorf("%d jobs ran, want one", ran)
		}
	})
}

// TestQueueLingers has jobs come while several share each batch: the next batch waits for more, but not
// for long, not if one of them is in haste, and not if there are enough.
func TestQueueLingers(t *testing.T) {
	const linger = 5 * time.Millisecond
	tests := []struct {
		name  string
		alone bool          // the first batch is of one job
		jobs  int           // that come at once after it
		hasty bool          // the last of them
		want  time.Duration // until they are performed
		sizes []int
	}{
		{"the batch before was shared", false, 2, false, linger, []int{1, 2, 2}},
		{"the batch before was not", true, 1, false, 0, []int{1, 1}},
		{"one is in haste", false, 3, true, 0, []int{1, 2, 3}},
		{"there are enough", false, 32, false, 0, []int{1, 2, 32}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{gate: make(chan struct{}, 100)}
				q := store.NewQueue(100, linger, d.perform)
				var all sync.WaitGroup
				add := func(hasty bool) {
					all.Go(func() {
						if err := store.Do(q, t.Context(), func(*store.Batch) error { return nil }, hasty); err != nil {
							t.Errorf("a job gives %v", err)
						}
					})
					synctest.Wait()
				}
				add(false)
				if !tt.alone {
					add(false)
					add(false)
					d.gate <- struct{}{} // the first; the other two follow together
					synctest.Wait()
				}
				d.gate <- struct{}{}
				all.Wait()
				began := time.Now()
				for i := range tt.jobs {
					d.gate <- struct{}{}
					add(tt.hasty && i == tt.jobs-1)
				}
				all.Wait()
				if got := time.Since(began); got != tt.want {
					t.Errorf("the jobs took %v, want %v", got, tt.want)
				}
				if got := d.sizes(); !slices.Equal(got, tt.sizes) {
					t.Errorf("the batches had %v jobs, want %v", got, tt.sizes)
				}
			})
		})
	}
}

// TestQueueLingersWhileJobsCome has a job come now and then: a batch waits for the next for as long as one came
// lately, and in all no longer than it may.
func TestQueueLingersWhileJobsCome(t *testing.T) {
	const linger = 40 * time.Millisecond
	tests := []struct {
		name  string
		every time.Duration // between two jobs
		jobs  int
		want  time.Duration // until the first of them is performed
	}{
		{"they go on coming", 4 * time.Millisecond, 20, linger},
		{"they come no more", 4 * time.Millisecond, 3, 15 * time.Millisecond},
		{"they come too far apart", 8 * time.Millisecond, 5, 5 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{gate: make(chan struct{}, 100)}
				q := store.NewQueue(100, linger, d.perform)
				var all sync.WaitGroup
				add := func(done func()) {
					all.Go(func() {
						if err := store.Do(q, t.Context(), func(*store.Batch) error { return nil }, false); err != nil {
							t.Errorf("a job gives %v", err)
						}
						done()
					})
					synctest.Wait()
				}
				for range 3 {
					add(func() {})
				}
				for range 90 {
					d.gate <- struct{}{}
				}
				all.Wait()
				began, took := time.Now(), time.Duration(0)
				add(func() { took = time.Since(began) })
				for range tt.jobs - 1 {
					time.Sleep(tt.every)
					add(func() {})
				}
				all.Wait()
				if took != tt.want {
					t.Errorf("the first job took %v, want %v", took, tt.want)
				}
			})
		})
	}
}
