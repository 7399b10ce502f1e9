package daemon_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// A sluggishStore takes its time over every step of a poll.
type sluggishStore struct {
	freshet.Store
	mu     sync.Mutex
	chance *rand.Rand
}

func (s *sluggishStore) dawdle() {
	s.mu.Lock()
	wait := time.Duration(s.chance.Int64N(int64(3 * time.Second)))
	s.mu.Unlock()
	time.Sleep(wait)
}

func (s *sluggishStore) Begin(ctx context.Context, p freshet.Poll) (freshet.Head, error) {
	s.dawdle()
	return s.Store.Begin(ctx, p)
}

func (s *sluggishStore) Hop(ctx context.Context, p freshet.Poll, at time.Time, host string) error {
	s.dawdle()
	return s.Store.Hop(ctx, p, at, host)
}

func (s *sluggishStore) Commit(ctx context.Context, r freshet.Record) (freshet.Outcome, freshet.Change, error) {
	s.dawdle()
	return s.Store.Commit(ctx, r)
}

// A host that asks to be left alone is left alone from that moment on, also by polls
// that had their leave, however long the disk takes to record anything.
func TestRetryAfterOnASlowDisk(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		all := numbered(6, "https://s%d.example/")
		for _, s := range append(all, numbered(6, "https://one.example/%d")...) {
			s.ID = freshet.SourceID(strings.NewReplacer("/", "-", ":", "").Replace(s.URL))
			if _, err := store.AddSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		const wish = 20 * time.Second
		var mu sync.Mutex
		var asked []time.Time
		chance := rand.New(rand.NewPCG(1, 2))
		w := &relay{latency: 50 * time.Millisecond, answer: func(url string) step {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case freshet.HostOf(url) != "one.example":
				return step{to: "https://one.example/"}
			case chance.IntN(5) > 0:
				return step{}
			}
			asked = append(asked, time.Now())
			return step{away: wish}
		}}
		watchFor(t, daemon.Config{
			Store: &sluggishStore{Store: store, chance: rand.New(rand.NewPCG(3, 4))}, Fetcher: w, Policy: &policy.RoundRobin{},
			Limits: sched.Limits{Budget: sched.Budget{Polls: 10, Per: time.Second}, Hosts: sched.Politeness{Concurrency: 4}},
		}, time.Hour)
		seen := w.of("one.example")
		if len(asked) < 20 || len(seen) < 100 {
			t.Fatalf("the host saw %d requests and asked %d times to be left alone", len(seen), len(asked))
		}
		for _, from := range asked {
			for _, s := range seen {
				if since := s.came.Sub(from); since > 0 && since < wish {
					t.Fatalf("the host was asked %v after it had asked for %v", since, wish)
				}
			}
		}
	})
}

// A min_gap counts from when a request leaves, however long it took to put the poll
// recorded, and across a crash.
func TestMinGapOnASlowDisk(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		const gap = 5 * time.Second
		w := &relay{latency: 50 * time.Millisecond, answer: func(string) step { return step{} }}
		for life := range uint64(60) {
			store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
			if err != nil {
				t.Fatal(err)
			}
			if life == 0 {
				if _, err := store.AddSource(t.Context(), freshet.Source{ID: "page", URL: "https://one.example/", MinGap: gap}); err != nil {
					t.Fatal(err)
				}
			}
			watchFor(t, daemon.Config{
				Store: &sluggishStore{Store: store, chance: rand.New(rand.NewPCG(life, 6))}, Fetcher: w, Policy: &policy.RoundRobin{},
				Limits: sched.Limits{Budget: sched.Budget{Polls: 10, Per: time.Second}}, Grace: time.Nanosecond,
			}, time.Duration(5000+137*life)*time.Millisecond)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
		seen := w.of("one.example")
		if len(seen) < 50 {
			t.Fatalf("the host saw %d requests", len(seen))
		}
		for i, s := range seen[1:] {
			if apart := s.came.Sub(seen[i].came); apart < gap {
				t.Errorf("two polls came %v apart, want at least %v", apart, gap)
			}
		}
	})
}

// A disk that hangs returns no error. After some seconds the daemon says that it can capture nothing, and
// it is the later the longer that lasts. When the disk goes on so do polls.
func TestAStoreThatHangsIsTrouble(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(500*time.Millisecond, 10*time.Second)
		store := &faulty{}
		b := begin(t, dir, daemon.Config{Fetcher: w, Store: store}, w.Sources()...)
		defer b.stop()
		time.Sleep(time.Minute)
		if s := b.Status(); s.Trouble != "" || s.Late > time.Second || s.Polls == 0 {
			t.Fatalf("while all is well its status is %+v", s)
		}
		free := make(chan struct{})
		store.hangs.Store(&free)
		time.Sleep(40 * time.Second)
		s := b.Status()
		if !strings.Contains(s.Trouble, "nothing has been written for") || s.Late < 20*time.Second || s.StoreWait < 20*time.Second || s.MostLate < s.Late {
			t.Errorf("while the store hangs its status is %+v", s)
		}
		store.hangs.Store(nil)
		close(free)
		time.Sleep(time.Minute)
		if after := b.Status(); after.Trouble != "" || after.StoreWait != 0 || after.Polls <= s.Polls {
			t.Errorf("when the store goes on its status is %+v, and was %+v", after, s)
		}
	})
}
