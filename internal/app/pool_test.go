package app_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cluster/shards"
	"freshet/internal/cluster/shards/table"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/pgtest"
)

// A poolWeb is a web server under several hosts, one for each shard, that notes when it was asked.
type poolWeb struct {
	url []string // by shard

	mu   sync.Mutex
	seen []time.Time
}

// newPoolWeb returns a web with a host for each of so many shards.
func newPoolWeb(t *testing.T, count int) *poolWeb {
	w := &poolWeb{url: make([]string, count)}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, time.Now())
		w.mu.Unlock()
		if to, ok := strings.CutPrefix(r.URL.Path, "/to/"); ok {
			http.Redirect(rw, r, "http://"+to+"/", http.StatusFound)
			return
		}
		fmt.Fprintln(rw, r.Host, r.URL.Path, time.Now().UnixNano())
	})
	for slices.Contains(w.url, "") {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		number, _ := shards.Shard{Number: 1, Of: count}.Has(server.Listener.Addr().String())
		w.url[number-1] = cmp.Or(w.url[number-1], server.URL)
	}
	return w
}

// most returns how many requests came within any stretch.
func (w *poolWeb) most(stretch time.Duration) (most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.seen, time.Time.Compare)
	first := 0
	for last, at := range w.seen {
		for at.Sub(w.seen[first]) >= stretch {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

func (w *poolWeb) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// shardSettings returns the settings of one of the daemons that share ten polls a second.
func shardSettings(t *testing.T, pool, shard string, sources ...string) config.Settings {
	s := settings(t)
	s.Limits.Budget = sched.Budget{Polls: 10, Per: time.Second}
	s.Limits.SourceGap, s.Limits.Hosts.Share, s.Limits.SourceShare = 0, 1, 1
	s.Fetch.Total, s.Render.Total = time.Second, time.Second
	s.Pool, s.File = pool, "freshet.yaml"
	var err error
	if s.Shard, err = shards.ParseShard(shard); err != nil {
		t.Fatal(err)
	}
	for i, url := range sources {
		s.Sources = append(s.Sources, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%d", i)), URL: url})
	}
	return s
}

// partsOf returns what each shard has by now.
func partsOf(t *testing.T, pool string) (held []float64, moving bool) {
	t.Helper()
	table, _, err := app.Pool(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range table.Seats {
		held = append(held, s.Part)
		moving = moving || s.Part != s.Goal
	}
	return held, moving
}

// Two daemons with one configuration file share its sources and its budget: each polls the
// hosts of its shard, the part of the one with more sources grows, and all the time the server
// sees no more requests than the budget allows, also when a daemon starts again or the pool is
// gone for a while.
func TestDaemonsShareABudget(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	pool := server.URL(server.Database(t))
	web := newPoolWeb(t, 2)
	list := []string{web.url[0] + "/only", web.url[0] + "/to/" + strings.TrimPrefix(web.url[1], "http://")}
	for i := range 30 {
		list = append(list, fmt.Sprintf("%s/%d", web.url[1], i))
	}
	first, second := shardSettings(t, pool, "1/2", list...), shardSettings(t, pool, "2/2", list...)
	one, _, stopOne := serve(t, first, app.ServeConfig{})
	two, at, stopTwo := serve(t, second, app.ServeConfig{})
	defer func() { stopTwo() }()

	var all []client.Source
	for _, c := range []*client.Client{one, two} {
		some, err := c.Sources(t.Context(), client.SourceQuery{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	if len(all) != len(list) || !strings.HasPrefix(all[0].URL, web.url[0]) || !strings.HasPrefix(all[2].URL, web.url[1]) {
		t.Errorf("the daemons have %d sources together, want %d, each of its own host", len(all), len(list))
	}
	until(t, "the second has most of the budget", func() bool {
		held, moving := partsOf(t, pool)
		return held[1] >= 8 && held[0]+held[1] == 10 && !moving
	})
	if _, err := one.Add(t.Context(), client.NewSource{URL: web.url[1] + "/more"}); err == nil || !strings.Contains(err.Error(), "shard 2 of 2 ("+at+")") {
		t.Errorf("a source of another shard: %v", err)
	}
	until(t, "the redirect to a host of the other shard has failed", func() bool {
		s, err := one.Source(t.Context(), "s1")
		return err == nil && s.Standing.LastError != nil && s.Standing.LastError.Class == freshet.FailShard
	})

	stopOne()
	one, _, stopOne = serve(t, first, app.ServeConfig{})
	defer func() { stopOne() }()
	before := web.count()
	until(t, "both poll again", func() bool { return web.count() > before+30 })
	if held, _ := partsOf(t, pool); held[0]+held[1] != 10 || held[1] < 7 {
		t.Errorf("after a start the parts are %v", held)
	}

	server.Stop(t)
	before = web.count()
	until(t, "polls go on without the pool", func() bool { return web.count() > before+40 })
	server.Resume(t)
	if most := web.most(900 * time.Millisecond); most > 10 { // the server may come late to one that was given up
		t.Errorf("%d requests within a second, and the budget is 10/s", most)
	}
}

// A daemon that is not told its part makes no polls, and says why: while there is no pool, and
// when its shard is another's.
func TestNoPollsWithoutAPart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	at := server.URL(server.Database(t))
	web := newPoolWeb(t, 2)
	server.Stop(t)
	first := shardSettings(t, at, "1/2", web.url[0]+"/")
	one, _, stopOne := serve(t, first, app.ServeConfig{})
	defer stopOne()
	says := func(c *client.Client, part string) func() bool {
		return func() bool {
			s, err := c.Status(t.Context())
			return err == nil && strings.Contains(s.Trouble, part)
		}
	}
	until(t, "the first says that there is no pool", says(one, "the pool at"))
	if n := web.count(); n > 0 {
		t.Errorf("%d polls were made without a part of the budget", n)
	}
	server.Resume(t)
	until(t, "the first polls", func() bool { return web.count() > 0 })

	thief, _, stopThief := serve(t, shardSettings(t, at, "1/2", web.url[0]+"/thief"), app.ServeConfig{})
	until(t, "the thief says that the shard is another's", says(thief, "another store has this shard"))
	stopThief()
	if err := app.ForgetShard(t.Context(), at, 3); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("forgetting a shard that there is not: %v", err)
	}
	if err := app.ForgetShard(t.Context(), at, 1); !errors.Is(err, freshet.ErrBusy) || freshet.HintOf(err) == "" {
		t.Errorf("forgetting a shard that is at work: %v", err)
	}
	before := web.count()
	until(t, "the first polls on", func() bool { return web.count() > before })
	table, err := table.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	longAgo := func(t *shards.Table, now time.Time) (*shards.Table, error) { // as far as anybody can tell
		t.Seats[0].Seen = now.Add(-time.Hour)
		t.Version++
		return t, nil
	}
	until(t, "a shard that is silent can be forgotten", func() bool {
		if err := table.Change(t.Context(), longAgo); err != nil {
			t.Fatal(err)
		}
		err := app.ForgetShard(t.Context(), at, 1)
		if err != nil && !errors.Is(err, freshet.ErrBusy) { // it has spoken meanwhile
			t.Fatal(err)
		}
		return err == nil
	})
	until(t, "the one that was forgotten stops", says(one, "another daemon runs as this shard"))
}
