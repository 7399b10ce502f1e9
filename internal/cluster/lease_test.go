package cluster_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

// TestNoRequestWithoutLease ends the lease between the permit for a request and its write, while the
// name of the server is resolved. Nothing is sent until the lease is renewed, and then the poll
// succeeds.
func TestNoRequestWithoutLease(t *testing.T) {
	const right = time.Second
	g := newRig(t)
	g.right.Store(int64(right))
	looking, look := make(chan struct{}, 10), make(chan struct{})
	g.join("far", func(c *cluster.WorkerConfig) {
		c.Open = func(by cluster.Terms) (worker.Looker, error) {
			f := kit.Loopback()
			f.May = by.CheckLease
			f.Ports = []uint16{netip.MustParseAddrPort(g.web.Listener.Addr().String()).Port()}
			f.Resolver = func(context.Context, string) ([]netip.Addr, error) {
				looking <- struct{}{}
				<-look
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return worker.New(fetch.New(f), nil), nil
		}
	})
	g.web.PutHTML("/", "here")
	o := g.task("/")
	_, port, _ := net.SplitHostPort(g.web.Listener.Addr().String())
	o.Source.URL = "http://name.example:" + port + "/"
	leaves := 0
	o.Permit = func(context.Context, freshet.Hop) error { leaves++; return nil }
	found := g.begun(o, looking)
	g.right.Store(-1) // somebody else may be elected now
	<-time.After(right)
	close(look)
	kit.Until(g, "the worker gives the task back", func() bool { return g.pool.Status()[0].Busy == 0 })
	if n := g.web.Asked("/"); n != 0 {
		t.Errorf("%d requests were written without the right to", n)
	}
	g.right.Store(int64(right))
	if f := <-found; f.Result != freshet.First || f.Requests != 1 || leaves != 1 {
		t.Errorf("the look ends with %s %s after %d requests with leave for %d: %s", f.Result, f.Failure, f.Requests, leaves, f.Err)
	}
}

// begun polls until a poll has begun, and returns the channel of its result. A very slow worker may
// be lost before.
func (g *rig) begun(o worker.Task, there <-chan struct{}) <-chan worker.Result {
	for {
		found := make(chan worker.Result, 1)
		go func() { found <- g.pool.Look(g.Context(), o) }()
		select {
		case <-there:
			return found
		case <-found:
		}
	}
}

// TestLostWorker disconnects a worker during a request. The leader counts the request as running
// until the worker can send no more, and as performed then.
func TestLostWorker(t *testing.T) {
	const total = 3 * time.Second
	g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = 2*time.Second, total })
	there := make(chan struct{}, 10)
	g.web.Mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		there <- struct{}{}
		<-r.Context().Done()
	})
	var conns []net.Conn
	cut := make(chan struct{})
	g.join("far", func(c *cluster.WorkerConfig) {
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			select {
			case <-cut:
				return nil, net.ErrClosed
			default:
			}
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			conns = append(conns, conn)
			return conn, err
		}}}
		c.Do = client.Do
	})
	g.right.Store(int64(time.Second))
	found := g.begun(g.task("/"), there)
	close(cut)
	at := time.Now()
	for _, c := range conns {
		c.Close()
	}
	f := <-found
	if took := time.Since(at); took < total {
		t.Errorf("the order of a worker that is lost was given up after %v", took)
	}
	if !f.Failure.Is(failure.LocalHand) || f.Requests != 1 {
		t.Errorf("it counts as %s with %d requests: %s", f.Failure, f.Requests, f.Err)
	}
}

// TestDrain stops a worker during a poll. It completes that poll, and another worker makes the
// next.
func TestDrain(t *testing.T) {
	g := newRig(t)
	there, on := make(chan struct{}, 1), make(chan struct{})
	g.web.Mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		there <- struct{}{}
		<-on
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("here"))
	})
	g.web.PutHTML("/next", "next")
	leave := g.join("one")
	found := make(chan worker.Result, 1)
	go func() { found <- g.pool.Look(t.Context(), g.task("/slow")) }()
	<-there
	left := make(chan struct{})
	go func() { leave(); close(left) }()
	kit.Until(g, "the worker drains", func() bool { s := g.pool.Status(); return len(s) == 1 && s[0].Draining })
	g.join("two")
	if f := g.pool.Look(t.Context(), g.task("/next")); f.Result != freshet.First {
		t.Errorf("beside a worker that drains, a look ends with %s %s", f.Result, f.Err)
	}
	close(on)
	if f := <-found; f.Result != freshet.First {
		t.Errorf("what was begun ends with %s %s", f.Result, f.Err)
	}
	<-left
	kit.Until(g, "the worker has left", func() bool { return !g.has("one") })
}

// TestDrainedByTheLeader drains a worker from the leader. The worker ends and does not reconnect.
func TestDrainedByTheLeader(t *testing.T) {
	g := newRig(t)
	ended := make(chan error, 1)
	go func() {
		ended <- cluster.NewWorker(cluster.WorkerConfig{
			Join: []string{g.leader.URL}, Token: token, Name: "one", Slots: 1, Do: fetch.Trusted(10 * time.Second).Do,
			Open: func(cluster.Terms) (worker.Looker, error) { return ownWorker(), nil },
		}).Run(t.Context())
	}()
	kit.Until(g, "the worker has come", func() bool { return g.has("one") })
	if err := g.pool.Drain("nobody"); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("draining nobody says %v", err)
	}
	if err := g.pool.Drain("one"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	kit.Until(g, "it has left", func() bool { return !g.has("one") })
}

// TestPlaces polls sources from their places, and fails polls of sources whose place has no worker.
func TestPlaces(t *testing.T) {
	g := newRig(t, func(c *cluster.Config) { c.Own, c.Slots = ownWorker(), 10 })
	agent := make(chan string, 10)
	g.web.Mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { agent <- r.UserAgent() })
	at := func(place string) func(*cluster.WorkerConfig) {
		return func(c *cluster.WorkerConfig) {
			c.Place = place
			c.Open = func(by cluster.Terms) (worker.Looker, error) {
				f := kit.Loopback()
				f.Agent, f.May = "from "+place, by.CheckLease
				return worker.New(fetch.New(f), nil), nil
			}
		}
	}
	g.join("a", at("eu"))
	g.join("b", at("us"))
	for _, place := range []string{"eu", "us", "eu"} {
		o := g.task("/")
		o.Source.From = place
		g.pool.Look(t.Context(), o)
		if got := <-agent; got != "from "+place {
			t.Errorf("a source that is to be looked at from %s was, %s", place, got)
		}
	}
	o := g.task("/")
	o.Source.From = "mars"
	if f := g.pool.Look(t.Context(), o); !f.Failure.Is(failure.LocalHand) {
		t.Errorf("where nobody is, a look ends with %s %s", f.Failure, f.Err)
	}
	secret := g.task("/")
	secret.Source.Request = &profile.Profile{Headers: map[string]profile.Value{"X-Key": "k"}}
	g.pool.Look(t.Context(), secret)
	if got := <-agent; got == "from eu" || got == "from us" {
		t.Errorf("what may need a secret was looked at %s", got)
	}
	if n := g.slots.Load(); n != 18 {
		t.Errorf("there are %d slots, want 10 here and 4 of each worker", n)
	}
}

// TestHostsStayWithTheirWorkers adds and removes workers. The remaining workers keep their hosts.
func TestHostsStayWithTheirWorkers(t *testing.T) {
	t.Parallel()
	one := cluster.Chosen([]string{"a", "b", "c"})
	two := cluster.Chosen([]string{"a", "c"})
	moved, of := 0, map[string]int{}
	for host, was := range one {
		of[was]++
		if was != "b" && two[host] != was {
			moved++
		}
	}
	if moved > 0 {
		t.Errorf("%d hosts were given to another worker although theirs stayed", moved)
	}
	for name, n := range of {
		if n < 200 || n > 500 {
			t.Errorf("worker %s has %d of 1000 hosts", name, n)
		}
	}
}
