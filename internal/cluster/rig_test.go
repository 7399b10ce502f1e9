package cluster_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/worker"
)

const token = "a token of workers"

// A rig is a leader that workers can join, and a web server to look at.
type rig struct {
	*testing.T
	hands *cluster.Pool
	brain *httptest.Server
	web   *httptest.Server
	mux   *http.ServeMux

	right atomic.Int64 // that the leader gives, as a duration; below zero means none
	slots atomic.Int64 // that the leader was told of

	mu   sync.Mutex
	seen []string // what the web server was asked for
}

func newRig(t *testing.T, alter ...func(*cluster.Config)) *rig {
	t.Parallel()
	g := &rig{T: t, mux: http.NewServeMux()}
	g.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, r.URL.Path)
		g.mu.Unlock()
		g.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(g.web.Close)
	g.right.Store(int64(time.Minute))
	cfg := cluster.Config{
		Token: func() string { return token }, Lease: 10 * time.Second, Total: 10 * time.Second, Epoch: 1, Agent: "freshet-test",
		Right:   func() time.Duration { return time.Duration(g.right.Load()) },
		Changed: func(slots int) { g.slots.Store(int64(slots)) },
	}
	for _, a := range alter {
		a(&cfg)
	}
	g.hands = cluster.New(cfg)
	g.brain = httptest.NewServer(g.hands)
	t.Cleanup(g.brain.Close)
	return g
}

// page serves HTML at a path.
func (g *rig) page(path, html string) {
	g.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(html))
	})
}

// asked returns how often a path was asked for.
func (g *rig) asked(path string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.seen {
		if p == path {
			n++
		}
	}
	return n
}

// order returns a task for a path.
func (g *rig) order(path string) worker.Task {
	return worker.Task{Source: freshet.Source{ID: "page", URL: g.web.URL + path}, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), History: seen{}}
}

// fetching returns how workers of the rig reach its web server.
func fetching() fetch.Config {
	return fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// ownHand returns a worker beside the leader.
func ownHand() *worker.Worker { return worker.New(fetch.New(fetching()), nil) }

// join has a worker work for the leader and returns how to end it, which waits for its end.
func (g *rig) join(name string, alter ...func(*cluster.WorkerConfig)) (leave func()) {
	g.Helper()
	cfg := cluster.WorkerConfig{
		Join: []string{g.brain.URL}, Token: token, Name: name, Slots: 4,
		Do: fetch.Trusted(10 * time.Second).Do,
		Open: func(by cluster.Terms) (worker.Looker, error) {
			c := fetching()
			c.Agent, c.May = by.Agent, by.May
			return worker.New(fetch.New(c), nil), nil
		},
	}
	for _, a := range alter {
		a(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cluster.NewWorker(cfg).Run(ctx) }()
	leave = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			g.Errorf("worker %s ends with %v", name, err)
		}
	})
	g.Cleanup(leave)
	g.until("worker "+name+" has come", func() bool { return g.has(name) })
	return leave
}

func (g *rig) has(name string) bool {
	for _, s := range g.hands.Status() {
		if s.Name == name {
			return true
		}
	}
	return false
}

// until waits for something that other goroutines bring about.
func (g *rig) until(what string, is func() bool) {
	g.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); {
		if time.Now().After(end) {
			g.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
