package cluster_test

import (
	"context"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

const token = "a token of workers"

// A rig is a leader that workers can join, with a web server to poll.
type rig struct {
	*testing.T
	pool   *cluster.Pool
	leader *httptest.Server
	web    *kit.Origin

	right atomic.Int64 // that the leader gives, as a duration; below zero means none
	slots atomic.Int64 // that the leader was told of
}

func newRig(t *testing.T, alter ...func(*cluster.Config)) *rig {
	t.Parallel()
	g := &rig{T: t, web: kit.NewOrigin(t)}
	g.right.Store(int64(time.Minute))
	cfg := cluster.Config{
		Token: func() string { return token }, Lease: 10 * time.Second, Total: 10 * time.Second, Epoch: 1, Agent: "freshet-test",
		LeaseLeft: func() time.Duration { return time.Duration(g.right.Load()) },
		Changed:   func(slots int) { g.slots.Store(int64(slots)) },
	}
	for _, a := range alter {
		a(&cfg)
	}
	g.pool = cluster.New(cfg)
	g.leader = httptest.NewServer(g.pool)
	t.Cleanup(g.leader.Close)
	return g
}

// task returns a task for a path.
func (g *rig) task(path string) worker.Task {
	return worker.Task{Source: freshet.Source{ID: "page", URL: g.web.URL + path}, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), History: seen{}}
}

// ownWorker returns the local worker of the leader.
func ownWorker() *worker.Worker { return worker.New(fetch.New(kit.Loopback()), nil) }

// join starts a worker and returns a function that stops it and waits for its end.
func (g *rig) join(name string, alter ...func(*cluster.WorkerConfig)) (leave func()) {
	g.Helper()
	cfg := cluster.WorkerConfig{
		Join: []string{g.leader.URL}, Token: token, Name: name, Slots: 4,
		Do: fetch.Trusted(10 * time.Second).Do,
		Open: func(by cluster.Terms) (worker.Looker, error) {
			c := kit.Loopback()
			c.Agent, c.May = by.Agent, by.CheckLease
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
	kit.Until(g, "worker "+name+" has come", func() bool { return g.has(name) })
	return leave
}

func (g *rig) has(name string) bool {
	for _, s := range g.pool.Status() {
		if s.Name == name {
			return true
		}
	}
	return false
}
