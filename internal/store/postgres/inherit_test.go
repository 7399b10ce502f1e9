package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/store/postgres"
)

// Whoever has taken over and ends again leaves a store that goes on following, whatever it wrote.
func TestFollowsAfterATakeOverThatEnded(t *testing.T) {
	shed := newShed(t)
	at := shed.URL(shed.Database(t))
	e := editor{T: t, store: open(t, postgres.Config{URL: at, FlushEvery: 7}), at: at, r: rand.New(rand.NewPCG(3, 4)), now: noon}
	follower := open(t, postgres.Config{URL: at, ReadOnly: true})
	defer follower.Close()
	for term := range 3 {
		for i := range 20 {
			e.step()
			if e.r.IntN(5) == 0 {
				same(t, fmt.Sprintf("term %d, step %d", term, i), follower, e.store)
			}
		}
		if err := e.store.Close(); err != nil {
			t.Fatal(err)
		}
		cfg := postgres.Config{Features: features.All(), URL: at, FlushEvery: 7, From: func() *postgres.Store { return follower }}
		if term == 1 { // one that took over nothing from it
			cfg.From = nil
		}
		e.store = open(t, cfg)
	}
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	anew := open(t, postgres.Config{URL: at, ReadOnly: true})
	defer anew.Close()
	same(t, "in the end", follower, anew)
}

// Whoever reads from a store while another takes over from it finds every source at every moment,
// and none as it was before.
func TestReadersOutliveATakeOver(t *testing.T) {
	shed := newShed(t)
	at := shed.URL(shed.Database(t))
	ctx := t.Context()
	before := open(t, postgres.Config{URL: at})
	const sources = 50
	for i := range sources {
		if _, err := before.AddSource(ctx, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%02d", i)), URL: fmt.Sprintf("https://a.example/%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	follower := open(t, postgres.Config{URL: at, ReadOnly: true})
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	reading, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			polls := map[freshet.SourceID]int64{}
			for reading.Err() == nil {
				list, err := follower.ListSources(ctx, freshet.SourceQuery{By: freshet.ByPolls, Limit: sources})
				if err != nil || list.Total != sources || len(list.Sources) != sources {
					t.Errorf("%d of %d sources are listed, of %d: %v", len(list.Sources), list.Total, sources, err)
					return
				}
				for _, w := range list.Sources {
					if w.Status.Polls < polls[w.ID] {
						t.Errorf("%s was polled %d times, and before that %d times", w.ID, w.Status.Polls, polls[w.ID])
						return
					}
					polls[w.ID] = w.Status.Polls
				}
			}
		})
	}
	after := open(t, postgres.Config{URL: at, FlushEvery: 7, From: func() *postgres.Store { return follower }})
	for i := range 4 * sources {
		id, now := freshet.SourceID(fmt.Sprintf("s%02d", i%sources)), noon.AddDate(0, 0, i)
		if _, _, err := after.Commit(ctx, freshet.Record{Outcome: freshet.Outcome{Source: id, Began: now, Ended: now, Result: freshet.Failed, Failure: failure.Timeout, Requests: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	readers.Wait()
	same(t, "whoever was asked during that", follower, after)
	for _, s := range []*postgres.Store{follower, after} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
