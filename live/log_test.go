package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet"
	"freshet/live"
	"freshet/policy"
	"freshet/sched"
	"freshet/synth"
)

// A slowCatalog answers questions about a source late: it lets others go first,
// now more and now fewer of them. Time does not pass, because it would not in a
// bubble in which somebody waits for a lock.
type slowCatalog struct {
	freshet.Store
	mu     sync.Mutex
	chance *rand.Rand
}

func (s *slowCatalog) Source(ctx context.Context, id freshet.SourceID) (freshet.Watched, error) {
	w, err := s.Store.Source(ctx, id)
	s.mu.Lock()
	turns := s.chance.IntN(100)
	s.mu.Unlock()
	for range turns {
		runtime.Gosched()
	}
	return w, err
}

// Of edits at the same time, the loop goes by the one that was written last.
func TestLoopGoesByTheLastEdit(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := synth.New(synth.Config{Now: time.Now, Pages: []synth.Page{{ID: "a", Host: "x"}, {ID: "b", Host: "x"}, {ID: "c", Host: "x"}, {ID: "d", Host: "x"}}})
				urls := w.Sources()
				store := filled(t, dir, w)
				defer store.Close()
				for _, s := range urls[1:] {
					if err := store.RemoveSource(t.Context(), s.ID, true); err != nil {
						t.Fatal(err)
					}
				}
				slow := &slowCatalog{Store: store, chance: rand.New(rand.NewPCG(seed, 9))}
				d := live.New(live.Config{Store: slow, Fetcher: w, Policy: &policy.RoundRobin{}, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}}})
				ctx, stop := context.WithCancel(t.Context())
				var running, editing sync.WaitGroup
				running.Go(func() {
					if err := d.Run(ctx); err != nil {
						t.Errorf("the daemon stopped: %v", err)
					}
				})
				<-d.Started()
				for i := range 40 {
					editing.Go(func() {
						var err error
						switch s := (freshet.Source{ID: "a", URL: urls[i%4].URL, Created: time.Now()}); i % 5 {
						case 3:
							err = d.RemoveSource(t.Context(), "a", i%2 == 0)
						case 4:
							_, err = d.AddSource(t.Context(), s)
						default:
							err = d.UpdateSource(t.Context(), s)
						}
						if err != nil && !errors.Is(err, freshet.ErrNotFound) && !errors.Is(err, freshet.ErrConflict) {
							t.Errorf("edit %d: %v", i, err)
						}
					})
				}
				editing.Wait()
				time.Sleep(5 * time.Second)
				before := len(w.Requests())
				time.Sleep(5 * time.Second)
				stop()
				running.Wait()
				want := 5 // polls of the source, as it is in the store
				now, err := store.Source(t.Context(), "a")
				if errors.Is(err, freshet.ErrNotFound) {
					want = 0
				} else if err != nil {
					t.Fatal(err)
				}
				after := w.Requests()[before:]
				if len(after) < want || want == 0 && len(after) > 0 {
					t.Fatalf("%d polls in 5 s of what is in the store as %q (%v), want %d", len(after), now.URL, err, want)
				}
				for _, r := range after {
					if url := urls[map[freshet.SourceID]int{"a": 0, "b": 1, "c": 2, "d": 3}[r.Page]].URL; url != now.URL {
						t.Fatalf("the loop polls %s, and the store has %s", url, now.URL)
					}
				}
			})
		})
	}
}

// A choosy store refuses a capture once, for no reason that passes.
type choosy struct {
	freshet.Store
	refused atomic.Bool
}

func (c *choosy) Commit(ctx context.Context, r freshet.Record) (freshet.Outcome, freshet.Change, error) {
	if r.Capture != nil && r.Outcome.Result == freshet.Changed && !c.refused.Swap(true) {
		return freshet.Outcome{}, freshet.Change{}, errors.New("too odd to be kept")
	}
	return c.Store.Commit(ctx, r)
}

// A change that could not be recorded is captured by the next poll: that it was
// seen counts only if it is on record.
func TestRefusedCaptureIsSeenAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, 3*time.Second+time.Millisecond)
		store := filled(t, dir, w)
		defer store.Close()
		watchFor(t, live.Config{
			Store: &choosy{Store: store}, Fetcher: w, Policy: &policy.RoundRobin{},
			Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}, Backoff: sched.Backoff{Start: time.Second}},
		}, 5900*time.Millisecond)
		log, err := store.Outcomes(t.Context(), freshet.OutcomeQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var results []freshet.Result
		for _, o := range log {
			if o.Result != freshet.Unchanged {
				results = append(results, o.Result)
			}
		}
		if want := "[first failed changed]"; fmt.Sprint(results) != want {
			t.Errorf("the polls found %v, want %s", results, want)
		}
		if len(log) > 1 && log[len(log)-1].Failure == "" && log[len(log)-1].Version != 2 {
			t.Errorf("the last poll saw version %d, want 2", log[len(log)-1].Version)
		}
	})
}

// A forgottenLog cannot be read any more at some time.
type forgottenLog struct {
	freshet.Store
	reads  atomic.Int64
	broken atomic.Bool
}

var errUnreadable = errors.New("the log is not readable")

func (l *forgottenLog) Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error) {
	l.reads.Add(1)
	if l.broken.Load() {
		return nil, errUnreadable
	}
	return l.Store.Outcomes(ctx, q)
}

// A brain that cannot follow the log ends the run: it would decide blindly.
func TestUnreadableLogEndsTheRun(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Minute)
		store := filled(t, dir, w)
		defer store.Close()
		log := &forgottenLog{Store: store}
		ended := make(chan error, 1)
		go func() {
			ended <- live.New(live.Config{Store: log, Fetcher: w, Policy: &policy.RoundRobin{}}).Run(t.Context())
		}()
		time.Sleep(3 * time.Second)
		log.broken.Store(true)
		if err := <-ended; !errors.Is(err, errUnreadable) {
			t.Errorf("the run ended with %v, want %v", err, errUnreadable)
		}
	})
}

// Where the end of the log has been purged, whoever follows it waits for what
// comes, and does not ask again and again.
func TestFollowsAPurgedLog(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Minute)
		store := filled(t, dir, w)
		defer store.Close()
		log := &forgottenLog{Store: store}
		d := live.New(live.Config{Store: log, Fetcher: w, Policy: &policy.RoundRobin{}})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("the daemon stopped: %v", err)
			}
		})
		time.Sleep(3500 * time.Millisecond)
		source := w.Sources()[0]
		if err := d.RemoveSource(t.Context(), source.ID, true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := log.reads.Load()
		time.Sleep(time.Minute)
		if n := log.reads.Load() - before; n > 2 {
			t.Errorf("the log was read %d times in a minute in which nothing happened", n)
		}
		if _, err := d.AddSource(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		if o, err := d.Poll(t.Context(), source.ID); err != nil || o.Cursor == 0 {
			t.Errorf("a poll of the source that came back ended as %+v, %v", o, err)
		}
		stop()
		running.Wait()
	})
}
