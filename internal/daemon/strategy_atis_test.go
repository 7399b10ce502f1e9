package daemon_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
	"freshet/internal/lab"
	"freshet/internal/learn/imported"
	"freshet/internal/research/generate"
	"freshet/internal/sched"
	"freshet/internal/sched/cyclic"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
	"freshet/internal/units"
)

// airports answer with reports that change when a history says so.
type airports map[string][]time.Time

func (a airports) Fetch(_ context.Context, r freshet.Request) (freshet.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return freshet.Response{}, err
	}
	number, _ := slices.BinarySearchFunc(a[u.Host], time.Now(), func(at, now time.Time) int {
		if at.After(now) {
			return 1
		}
		return -1
	})
	return freshet.Response{URL: r.URL, Status: 200, Requests: 1, MediaType: "text/plain", Body: fmt.Appendf(nil, "report %d", number)}, nil
}

// Pages of airports have two reports an hour, each near a minute of its own, and special
// ones in between. A strategy of two polls an hour, planned from the history of a page
// alone and put in force in the daemon, captures what the plan has promised.
func TestPlannedStrategyKeepsItsPromise(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	const pages, past, future = 4, 21 * units.Day, 4 * units.Day
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h, err := generate.New(generate.Spec{Kind: "atis", Seed: 1, Pages: pages, Jitter: time.Minute, Start: began.Add(-past), Length: past + future})
		if err != nil {
			t.Fatal(err)
		}
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		web, known, happened := airports{}, map[freshet.SourceID][]imported.UpdateTime{}, 0
		for id, at := range h.All() {
			web[string(id)+".example"] = append(web[string(id)+".example"], at)
			if at.Before(began) {
				known[id] = append(known[id], imported.UpdateTime{After: at, Until: at})
			} else {
				happened++
			}
		}
		promised, uniform := 0.0, 0.0
		for id, updates := range known {
			c, err := lab.NewChronicle(updates, lab.StrategyRequest{Every: timetable.EveryHour, Method: cyclic.Optimal})
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Plan(2, timetable.Strategy{})
			if err != nil || !p.HeldOut {
				t.Fatalf("%s is planned as %+v (%v)", id, p, err)
			}
			promised, uniform = promised+p.Planned/pages, uniform+p.Uniform/pages
			if _, err := store.AddSource(t.Context(), freshet.Source{ID: id, URL: "http://" + string(id) + ".example/", Strategy: p.Strategy}); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		polls, captured := 0, 0
		d := daemon.New(daemon.Config{
			Store: store, Fetcher: web, Policy: &policy.Uniform{}, Limits: sched.Limits{Budget: sched.Budget{Polls: 2*pages + 2, Per: time.Hour}, Workers: 4},
			Observe: func(_ freshet.Source, o freshet.Outcome) {
				mu.Lock()
				defer mu.Unlock()
				polls++
				if o.Result == freshet.Changed {
					captured++
				}
			},
		})
		ctx, stop := context.WithTimeout(t.Context(), future)
		defer stop()
		if err := d.Run(ctx); err != nil {
			t.Fatal(err)
		}
		got := float64(captured) / float64(happened)
		t.Logf("%d polls capture %.3f of %d versions; %.3f was promised, and %.3f at equal distances", polls, got, happened, promised, uniform)
		if most := pages * (2*24*4 + 1); polls > most {
			t.Errorf("%d polls, want no more than %d", polls, most)
		}
		if got < promised-0.02 || promised < 0.88 || promised < uniform+0.1 {
			t.Errorf("%.3f is captured, %.3f was promised, and %.3f at equal distances", got, promised, uniform)
		}
	})
}
