package daemon_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// A tardyStore answers commits late and in another order than it made them, and
// now and then, if it is told to, says of a commit that it made that it did not.
type tardyStore struct {
	freshet.Store
	mu     sync.Mutex
	chance *rand.Rand
	denies int // one commit in so many; 0 means none
	denied int
}

func (s *tardyStore) Commit(ctx context.Context, r freshet.Record) (freshet.Outcome, freshet.Change, error) {
	o, c, err := s.Store.Commit(ctx, r)
	s.mu.Lock()
	wait := time.Duration(s.chance.Int64N(int64(300 * time.Millisecond)))
	deny := s.denies > 0 && s.chance.IntN(s.denies) == 0
	if deny {
		s.denied++
	}
	s.mu.Unlock()
	time.Sleep(wait)
	if deny && err == nil {
		return r.Outcome, freshet.Change{}, fmt.Errorf("denied: %w", freshet.ErrNotFound)
	}
	return o, c, err
}

// A listener is a policy that writes down which outcomes it was told of.
type listener struct {
	policy.Uniform
	told []freshet.Cursor
}

func (l *listener) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	if o.Cursor > 0 {
		l.told = append(l.told, o.Cursor)
	}
	l.Uniform.Observe(now, slot, o)
}

// manyPages returns a web of pages on hosts of their own, which change at random.
func manyPages(n int) *synth.Web {
	var pages []synth.Page
	for i := range n {
		pages = append(pages, synth.Page{
			ID: freshet.SourceID(fmt.Sprintf("p%03d", i)), Host: fmt.Sprintf("h%d", i/3),
			Schedule: synth.Poisson{Mean: time.Duration(5+i) * time.Second},
		})
	}
	return synth.New(synth.Config{Seed: 3, Start: time.Now(), Latency: 20 * time.Millisecond, Pages: pages, Now: time.Now})
}

// crowded limits let many polls be under way at once.
var crowded = sched.Limits{Budget: sched.Budget{Polls: 40, Per: time.Second}, Workers: 30}

// watchFor runs a daemon for a while.
func watchFor(t *testing.T, cfg daemon.Config, length time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	if err := daemon.New(cfg).Run(ctx); err != nil {
		t.Fatalf("the daemon stopped: %v", err)
	}
}

// filled returns a store with the sources of a web.
func filled(t *testing.T, dir string, w *synth.Web) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.Sources() {
		if _, err := store.AddSource(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func TestOutcomesAreToldInTheOrderOfTheLog(t *testing.T) {
	t.Parallel()
	for _, denies := range []int{0, 7} {
		t.Run(fmt.Sprintf("one commit in %d denied", denies), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := manyPages(60)
				store := filled(t, dir, w)
				defer store.Close()
				tardy := &tardyStore{Store: store, chance: rand.New(rand.NewPCG(1, 2)), denies: denies}
				heard := &listener{}
				watchFor(t, daemon.Config{Store: tardy, Fetcher: w, Policy: heard, Limits: crowded}, 30*time.Second)
				for i := range heard.told[1:] {
					if heard.told[i+1] != heard.told[i]+1 {
						t.Fatalf("outcome %d was told before outcome %d", heard.told[i], heard.told[i+1])
					}
				}
				end, err := store.Outcomes(t.Context(), freshet.OutcomeQuery{Newest: true, Limit: 1})
				if err != nil {
					t.Fatal(err)
				}
				most := crowded.Workers // under way at the end
				if want := int(end[0].Cursor) - most; len(heard.told) < want || want < 300 {
					t.Errorf("%d outcomes were told of %d in the log; want at least %d, and many", len(heard.told), end[0].Cursor, want)
				}
			})
		})
	}
}
