package live_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"freshet"
	"freshet/live"
	"freshet/policy"
	"freshet/sched"
	"freshet/sqlite"
	"freshet/synth"
)

// A lateLog is a store whose log of outcomes is read late by whoever follows it.
type lateLog struct {
	freshet.Store
	late atomic.Bool
}

func (s *lateLog) Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error) {
	if s.late.Load() {
		time.Sleep(5 * time.Second)
	}
	return s.Store.Outcomes(ctx, q)
}

// A source that is purged when a poll of it is on record, and the brain has not been told
// of that, takes nothing of the budget with it.
func TestPurgeBeforeTheBrainIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := synth.New(synth.Config{Now: time.Now, Pages: []synth.Page{
			{ID: "a", Host: "a", Schedule: synth.Regular{Every: time.Hour}}, {ID: "b", Host: "b", Schedule: synth.Regular{Every: time.Hour}},
		}})
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		for _, s := range w.Sources() {
			if _, err := store.AddSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		late := &lateLog{Store: store}
		polled := make(chan freshet.SourceID, 1000)
		d := live.New(live.Config{
			Store: late, Fetcher: w, Policy: &policy.RoundRobin{}, Observe: func(o freshet.Outcome) { polled <- o.Source },
			Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		<-d.Started()
		pass := func(d time.Duration) { time.Sleep(d) }
		pass(10 * time.Second)
		late.late.Store(true)
		for id := range polled { // a poll of it is on record just now
			if id == "a" && len(polled) == 0 {
				break
			}
		}
		if err := d.RemoveSource(t.Context(), "a", true); err != nil {
			t.Fatal(err)
		}
		late.late.Store(false)
		pass(10 * time.Second)
		before := len(w.Requests())
		pass(10 * time.Second)
		if n := len(w.Requests()) - before; n < 9 {
			t.Errorf("after the purge %d polls were made in ten seconds, want ten", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
