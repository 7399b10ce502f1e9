package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

// A witness is a worker that records which hosts it polls.
type witness struct {
	name string
	mu   *sync.Mutex
	by   map[string]string // the worker, by host
}

// Look implements [worker.Looker].
func (w *witness) Look(_ context.Context, o worker.Task) worker.Result {
	w.mu.Lock()
	w.by[freshet.HostOf(o.Source.URL)] = w.name
	w.mu.Unlock()
	return worker.Result{Result: freshet.Unchanged, Status: 200, Requests: 1}
}

// Robots implements [worker.Looker].
func (w *witness) Robots(context.Context, worker.Task, string) (worker.RobotsResult, error) {
	return worker.RobotsResult{}, nil
}

// TestTasksGoToTheWorkerOfTheirHost distributes many hosts among workers. When a worker goes, the
// others keep their hosts.
func TestTasksGoToTheWorkerOfTheirHost(t *testing.T) {
	const hosts = 60
	g := newRig(t)
	var mu sync.Mutex
	by := map[string]string{}
	leave := map[string]func(){}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		leave[name] = g.join(name, func(c *cluster.WorkerConfig) {
			c.Place = name
			c.Open = func(cluster.Terms) (worker.Looker, error) {
				return &witness{name: name, mu: &mu, by: by}, nil
			}
		})
	}
	look := func(host, from string) {
		f := g.pool.Look(t.Context(), worker.Task{Source: freshet.Source{ID: "page", URL: "https://" + host + "/", From: from}})
		if f.Err != "" {
			t.Fatal(f.Err)
		}
	}
	lookAtAll := func() map[string]string {
		for name := range leave { // it is there, and ready
			look("place."+name, name)
		}
		clear(by)
		for i := range hosts {
			look(fmt.Sprintf("host%d.example", i), "")
		}
		return maps.Clone(by)
	}
	before := lookAtAll()
	have := map[string]int{}
	for _, name := range before {
		have[name]++
	}
	if len(before) != hosts || len(have) != len(leave) {
		t.Fatalf("%d hosts were looked at, by %v", len(before), have)
	}
	leave["c"]()
	kit.Until(g, "the worker is gone", func() bool { return !g.has("c") })
	delete(leave, "c")
	for host, name := range lookAtAll() {
		if before[host] != "c" && before[host] != name {
			t.Errorf("%s was looked at by %s, and now is by %s, though that is still there", host, before[host], name)
		}
	}
}
