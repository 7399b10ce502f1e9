package cluster_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/fetch"
	"freshet/internal/test/kit"
	"freshet/internal/test/netfault"
)

// A worker that one address rejects tries the others, and gives up when all reject it.
func TestAWorkerTriesAllAddresses(t *testing.T) {
	g := newRig(t)
	no := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(no.Close)
	g.join("far", func(c *cluster.WorkerConfig) { c.Join = []string{no.URL, g.leader.URL} })

	w := cluster.NewWorker(cluster.WorkerConfig{Join: []string{no.URL, g.leader.URL}, Token: "no", Name: "x", Slots: 1, Do: fetch.Trusted(10 * time.Second).Do})
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a worker that nobody lets in ends with %v", err)
	}
}

// A proxy without a reachable node answers 404. A worker that was connected before keeps trying.
func TestAWorkerWaitsBehindAProxy(t *testing.T) {
	g := newRig(t)
	var asked atomic.Int64
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	t.Cleanup(empty.Close)
	leader := strings.TrimPrefix(g.leader.URL, "http://")
	proxy, err := netfault.New(leader)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	g.join("far", func(c *cluster.WorkerConfig) { c.Join = []string{"http://" + proxy.Address()} })
	proxy.Lead(strings.TrimPrefix(empty.URL, "http://"))
	proxy.Cut()
	kit.Until(g, "it has asked in vain", func() bool { return asked.Load() > 1 })
	proxy.Lead(leader)
	proxy.Cut() // which a proxy need not, since it looks at each request
	kit.Until(g, "it has come back", func() bool { return g.has("far") })
}

// A worker keeps trying while any address may accept it later, even if another address rejects it
// for good.
func TestAWorkerRetriesWhileAnyAddressMayAccept(t *testing.T) {
	g := newRig(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	tries := make(chan struct{}, 100)
	w := cluster.NewWorker(cluster.WorkerConfig{Join: []string{gone.URL, g.leader.URL}, Token: "no", Name: "x", Slots: 1, Do: func(r *http.Request) (*http.Response, error) {
		tries <- struct{}{}
		return fetch.Trusted(10 * time.Second).Do(r)
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for range 5 {
		<-tries
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}
