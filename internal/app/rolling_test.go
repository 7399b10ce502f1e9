package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/store/postgres"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
	"freshet/internal/units"
)

// A slowPage is a web whose every answer takes until some more requests have come, or a moment:
// so that polls are always under way.
type slowPage struct {
	*httptest.Server
	asked atomic.Int64
	open  atomic.Int64
}

func newSlowPage(t *testing.T) *slowPage {
	p := &slowPage{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.open.Add(1)
		defer p.open.Add(-1)
		n := p.asked.Add(1)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			t.Errorf("a request for %s was given up", r.URL.Path)
		}
		fmt.Fprintf(w, "edition %d", n)
	}))
	t.Cleanup(p.Close)
	return p
}

// more waits for more requests, and until some are under way.
func (p *slowPage) more(t *testing.T) {
	t.Helper()
	from := p.asked.Load()
	kit.Until(t, "more polls", func() bool { return p.asked.Load() >= from+10 && p.open.Load() > 0 })
}

// rolled has settings under which there is a lot to do for workers.
func (c *crew) rolled(token string) config.Settings {
	s := c.settings()
	s.Limits.Budget = sched.Budget{Polls: 100, Per: time.Second}
	s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share, s.Limits.Hosts.CrawlDelay = 0, 1, 1, 0
	s.Limits.Hosts.Concurrency = 8
	s.Policy, s.Cluster.TokenFile, s.Cluster.OwnSlots = "uniform", token, 0
	return s
}

// worker has a worker work for nodes, and returns how to end it as SIGTERM does, and when it has ended.
func (c *crew) worker(name string, nodes ...*member) (end func(), ended <-chan struct{}) {
	var join []string
	for _, m := range nodes {
		join = append(join, m.url)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := app.RunWorker(ctx, settings(c.T), app.WorkerConfig{Join: join, Token: "0123456789abcdef", Name: name, Slots: 4}, slog.New(slog.DiscardHandler)); err != nil {
			c.Errorf("worker %s ends with %v", name, err)
		}
	}()
	end = sync.OnceFunc(func() { cancel(); <-over })
	c.Cleanup(end)
	kit.Until(c.T, "worker "+name+" has come", func() bool {
		_, text := c.ask("", http.MethodGet, nodes[0].url+"/api/v1/cluster", "")
		return strings.Contains(text, `"name":"`+name+`"`)
	})
	return end, over
}

// Workers are drained and ended, and the leader is asked to stop, one after the other while polls
// are under way, as in an upgrade. Every poll that was begun has its outcome, and none failed.
func TestRollingUpgradeLosesNoPoll(t *testing.T) {
	c := crewAt(t, pgtest.Start(t, "fsync=on"))
	token, page := workerToken(t), newSlowPage(t)
	first, second := c.serveWith(c.rolled(token)), c.serveWith(c.rolled(token))
	_, drained := c.worker("left", first, second)
	end, _ := c.worker("right", first, second)
	for i := range 8 {
		c.wants(http.StatusCreated, "", "POST", second.url+"/api/v1/sources", fmt.Sprintf(`{"id":"p%d","url":"%s/p%d"}`, i, page.URL, i))
	}
	page.more(t)
	c.wants(http.StatusAccepted, "", "POST", second.url+"/api/v1/cluster/hands/left/drain", "")
	<-drained
	page.more(t)
	c.worker("left", first, second)
	end()
	page.more(t)
	c.worker("right", first, second)
	page.more(t)
	first.end()
	c.leads(second, second, "")
	page.more(t)
	third := c.serveWith(c.rolled(token))
	page.more(t)
	second.end()
	c.leads(third, third, "")
	third.end()

	s, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: c.at, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	attempts, err := s.Attempts(t.Context(), time.Now().Add(-units.Day))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts {
		if a.Ended.IsZero() {
			t.Errorf("the poll of %s at %s has no outcome", a.Source, a.Began)
		}
	}
	log, err := s.Outcomes(t.Context(), freshet.OutcomeQuery{})
	if err != nil || len(log) == 0 {
		t.Fatalf("%d outcomes: %v", len(log), err)
	}
	for _, o := range log {
		if o.Result == freshet.Failed {
			t.Errorf("the poll of %s at %s failed: %s %s", o.Source, o.Began, o.Failure, o.Err)
		}
	}
}
