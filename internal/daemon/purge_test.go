package daemon_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// A lateLog is a store whose log of outcomes can be late to whoever follows it, and that
// can take its time to remove a source.
type lateLog struct {
	freshet.Store
	late atomic.Bool
	slow bool // it is late from when a source is removed on, and that takes some seconds
}

func (s *lateLog) Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error) {
	if s.late.Load() {
		time.Sleep(20 * time.Second)
	}
	return s.Store.Outcomes(ctx, q)
}

func (s *lateLog) RemoveSource(ctx context.Context, id freshet.SourceID, purge bool) error {
	if s.slow {
		s.late.Store(true)
		time.Sleep(5 * time.Second)
	}
	return s.Store.RemoveSource(ctx, id, purge)
}

// A source that is purged when a poll of it is recorded, and the leader has not been told
// of that, takes nothing of the budget with it.
func TestPurgeBeforeTheBrainIsTold(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]bool{"a poll that has ended": false, "a poll that ends meanwhile": true} {
		t.Run(name, func(t *testing.T) { inBubble(t, func(t *testing.T, dir string) { purgeLate(t, dir, slow) }) })
	}
}

func purgeLate(t *testing.T, dir string, slow bool) {
	w := synth.New(synth.Config{Now: time.Now, Pages: []synth.Page{
		{ID: "a", Host: "a", Schedule: synth.Regular{Every: time.Hour}}, {ID: "b", Host: "b", Schedule: synth.Regular{Every: time.Hour}},
	}})
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, s := range w.Sources() {
		if _, err := store.AddSource(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	log := &lateLog{Store: store, slow: slow}
	polled := make(chan freshet.SourceID, 1000)
	d := daemon.New(daemon.Config{
		Store: log, Fetcher: w, Policy: &policy.RoundRobin{}, Observe: func(_ freshet.Source, o freshet.Outcome) { polled <- o.Source },
		Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}},
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-d.Started()
	time.Sleep(10 * time.Second)
	log.late.Store(!slow)
	for id := range polled { // a poll of the other one is recorded just now: the next is of it
		if len(polled) == 0 && (id == "a") != slow {
			break
		}
	}
	if err := d.RemoveSource(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	log.late.Store(false)
	time.Sleep(30 * time.Second)
	before := len(w.Requests())
	time.Sleep(10 * time.Second)
	if n := len(w.Requests()) - before; n < 9 {
		t.Errorf("after the purge %d polls were made in ten seconds, want ten", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
