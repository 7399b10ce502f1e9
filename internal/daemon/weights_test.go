package daemon_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// A gazette is pages that change equally often. The changes of some speak of recalls.
type gazette struct{ airports }

func newGazette(began time.Time, length time.Duration) gazette {
	g := gazette{airports{}}
	draw := rand.New(rand.NewPCG(5, 1))
	for i := range 8 {
		host := fmt.Sprintf("plain%d.example", i)
		if i%2 == 0 {
			host = fmt.Sprintf("recall%d.example", i)
		}
		for at := began; at.Before(began.Add(length)); at = at.Add(time.Duration(draw.ExpFloat64() * float64(5*time.Minute))) {
			g.airports[host] = append(g.airports[host], at)
		}
	}
	return g
}

func (g gazette) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	found, err := g.airports.Fetch(ctx, r)
	word, _, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), ".")
	found.Body = append(found.Body, " of a "+strings.TrimRight(word, "0123456789")...)
	return found, err
}

// run lets a daemon and the queries of its store run for some time, and returns which
// share of the polls went to pages whose changes speak of recalls.
func (g gazette) run(t *testing.T, store *sqlite.Store, length time.Duration, do func(d *daemon.Daemon)) float64 {
	limits := sched.Limits{Budget: sched.Budget{Polls: 48, Per: time.Hour}, Workers: 4}
	p, learner, err := policy.Wire("auto", policy.InDaemon("auto", limits.Budget, len(g.airports)))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	polls, loud := 0, 0
	d := daemon.New(daemon.Config{Store: store, Queries: queries.NewStore(store.DB()), Fetcher: g, Policy: p, Learner: learner, Limits: limits, Observe: func(_ freshet.Source, o freshet.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		if polls++; strings.HasPrefix(string(o.Source), "recall") {
			loud++
		}
	}})
	runner := queries.NewRunner(queries.RunnerConfig{Store: store, Queries: queries.NewStore(store.DB()), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{d.Run, runner.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("stopped: %v", err)
			}
		})
	}
	<-d.Started()
	if do != nil {
		do(d)
	}
	running.Wait()
	return float64(loud) / float64(polls)
}

// Of sources that change equally often, those whose changes match a query with an
// importance get more polls, after a restart too; and not a moment longer than the query
// says so.
func TestImportantChangesGetMorePolls(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	const part = 3 * time.Hour
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g := newGazette(time.Now(), 4*part)
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		for host := range g.airports {
			if _, err := store.AddSource(t.Context(), freshet.Source{ID: freshet.SourceID(host), URL: "http://" + host + "/"}); err != nil {
				t.Fatal(err)
			}
		}
		q, err := queries.NewStore(store.DB()).AddQuery(t.Context(), queries.Query{Name: "recalls", When: `added.contains("recall")`, From: -1, Created: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if share := g.run(t, store, part, nil); share < 0.42 || share > 0.58 {
			t.Errorf("without an importance they get %.2f of the polls", share)
		}
		q.Importance = 6
		if q, err = queries.NewStore(store.DB()).UpdateQuery(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		var before, after daemon.Why
		share := g.run(t, store, part, func(d *daemon.Daemon) {
			if why := explained(t, d, "recall0.example"); why.Stake == nil || why.Stake.Factor < 4 || why.Stake.Matched != why.Stake.Changes {
				t.Errorf("right after the start with an importance its stake is %+v", why.Stake)
			}
			if why := explained(t, d, "plain1.example"); why.Stake != nil {
				t.Errorf("a source whose changes match nothing has the stake %+v", why.Stake)
			}
			time.Sleep(part - time.Second)
			before = explained(t, d, "recall0.example")
		})
		if share < 0.64 {
			t.Errorf("with an importance of 6 they get %.2f of the polls", share)
		}
		share = g.run(t, store, part, func(d *daemon.Daemon) { after = explained(t, d, "recall0.example") })
		if share < 0.64 {
			t.Errorf("after a restart they get %.2f of the polls", share)
		}
		if before.Stake == nil || after.Stake == nil || *before.Stake != *after.Stake {
			t.Errorf("the stake was %+v, and is %+v after a restart", before.Stake, after.Stake)
		}
		share = g.run(t, store, part, func(d *daemon.Daemon) {
			q.Importance = 0
			if _, err := queries.NewStore(store.DB()).UpdateQuery(t.Context(), q); err != nil {
				t.Error(err)
			}
			d.QueriesEdited()
			time.Sleep(time.Second)
			if why := explained(t, d, "recall0.example"); why.Stake != nil {
				t.Errorf("a second after the importance went its stake is %+v", why.Stake)
			}
		})
		if share > 0.58 {
			t.Errorf("when the importance has gone they get %.2f of the polls", share)
		}
	})
}

func explained(t *testing.T, d *daemon.Daemon, id freshet.SourceID) daemon.Why {
	t.Helper()
	why, err := d.Why(t.Context(), id)
	if err != nil {
		t.Errorf("why %s: %v", id, err)
	}
	return why
}
