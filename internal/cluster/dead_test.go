package cluster_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/test/kit"
	"freshet/internal/test/netfault"
)

// The network between a worker and its leader drops data in one direction or both, or breaks so
// that only the worker notices. The task counts as performed and failed, and the worker reconnects.
func TestDeadNetworkToAWorker(t *testing.T) {
	for name, do := range map[string]func(*netfault.Wire){
		"both":       func(w *netfault.Wire) { w.Set(netfault.Dead) },
		"to it":      func(w *netfault.Wire) { w.Set(netfault.State{In: true}) },
		"from it":    func(w *netfault.Wire) { w.Set(netfault.State{Out: true}) },
		"half open":  func(w *netfault.Wire) { w.Orphan() },
		"for a beat": func(w *netfault.Wire) { w.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = time.Second, 2*time.Second })
			w, err := netfault.New(strings.TrimPrefix(g.leader.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			there := make(chan struct{}, 10)
			var once sync.Once
			g.web.Mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
				once.Do(func() { do(w) })
				there <- struct{}{}
				<-r.Context().Done()
			})
			g.web.PutHTML("/next", "next")
			g.join("far", func(c *cluster.WorkerConfig) { c.Join = []string{"http://" + w.Address()} })
			found := g.begun(g.task("/"), there)
			asked := g.web.Asked("/")
			if f := <-found; !f.Failure.Is(failure.LocalHand) || f.Requests != 1 {
				t.Errorf("the task counts as %s with %d requests: %s", f.Failure, f.Requests, f.Err)
			}
			w.Set(netfault.State{})
			kit.Until(g, "the worker works again", func() bool { return g.pool.Look(t.Context(), g.task("/next")).Result == freshet.First })
			if n := g.web.Asked("/"); n != asked {
				t.Errorf("the page was asked for %d times, and %d times before the network was dead", n, asked)
			}
		})
	}
}
