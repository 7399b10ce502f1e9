package cluster_test

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/failure"
	"freshet/internal/test/netfault"
	"freshet/internal/units"
	"freshet/internal/worker"
)

// A liar is a worker that returns given results.
type liar struct {
	find   func(worker.Task) worker.Result
	manner worker.RobotsResult
}

func (l liar) Look(_ context.Context, o worker.Task) worker.Result { return l.find(o) }

func (l liar) Robots(context.Context, worker.Task, string) (worker.RobotsResult, error) {
	return l.manner, nil
}

// lies lets a liar join.
func (g *rig) lies(l liar) {
	g.join("liar", func(c *cluster.WorkerConfig) {
		c.Open = func(cluster.Terms) (worker.Looker, error) { return l, nil }
	})
}

// captured returns a valid result.
func captured(o worker.Task) worker.Result {
	text := []byte("words\n")
	return worker.Result{
		Took: time.Second, Result: freshet.First, Status: 200, Requests: 1, Bytes: 6, Listed: -1,
		Capture: &freshet.Capture{Recipe: o.Source.Key(), Text: text, Hash: freshet.HashOf(text)},
	}
}

// A result cannot override what only the leader knows: the end of a poll, the permitted requests
// and their hosts, and where a source may have moved.
func TestResultsCannotOverrideTheLeader(t *testing.T) {
	g := newRig(t)
	at := g.task("/").At
	g.lies(liar{find: func(o worker.Task) worker.Result {
		f := captured(o)
		f.Took, f.Requests, f.Bytes = -time.Hour, math.MaxInt, -1
		if strings.HasSuffix(o.Source.URL, "/long") {
			f.Took, f.Requests = math.MaxInt64, -5
		}
		f.RetryAfter, f.FreshFor, f.LookAgain = math.MaxInt64, -1, math.MinInt64
		f.HostBackoffs = map[string]time.Duration{"bank.example": time.Hour, freshet.HostOf(g.web.URL): math.MaxInt64}
		f.Moved = freshet.Moved{URL: "file:///etc/passwd", At: at}
		f.Modified, f.Dates = at.AddDate(10, 0, 0), []time.Time{at.AddDate(1, 0, 0), at.AddDate(-1, 0, 0)}
		f.Landed = strings.Repeat("x", 1<<20)
		return f
	}})
	for _, path := range []string{"/", "/long"} {
		began := time.Now()
		f := g.pool.Look(t.Context(), g.task(path))
		if f.Result != freshet.First {
			t.Fatalf("%s: the look ends with %s %s: %s", path, f.Result, f.Failure, f.Err)
		}
		if f.Took <= 0 || f.Took > time.Since(began) {
			t.Errorf("%s: it took %s, want what the leader counts", path, f.Took)
		}
		if f.Requests < 0 || f.Requests > 1 || f.Bytes != 0 {
			t.Errorf("%s: it made %d requests, and one was permitted; it brought %d bytes", path, f.Requests, f.Bytes)
		}
		if f.RetryAfter != units.Day || f.FreshFor != 0 || f.LookAgain != 0 {
			t.Errorf("%s: it asks to wait %s, is fresh for %s and wants a look after %s", path, f.RetryAfter, f.FreshFor, f.LookAgain)
		}
		if len(f.HostBackoffs) != 1 || f.HostBackoffs[freshet.HostOf(g.web.URL)] != units.Day {
			t.Errorf("%s: it shuts %v, and only one host was asked", path, f.HostBackoffs)
		}
		if f.Moved != (freshet.Moved{}) {
			t.Errorf("%s: it moves the source to %v", path, f.Moved)
		}
		if !f.Modified.IsZero() || len(f.Dates) != 1 || len(f.Landed) > 1<<13 {
			t.Errorf("%s: it is dated %s and %v, and landed on %d bytes", path, f.Modified, f.Dates, len(f.Landed))
		}
	}
}

// The target of a permanent redirect is accepted if a request there was permitted.
func TestAWorkerTellsWhereASourceHasMoved(t *testing.T) {
	g := newRig(t)
	g.join("far")
	g.web.Mux.Handle("/old", http.RedirectHandler("/new", http.StatusMovedPermanently))
	g.web.PutHTML("/new", "new")
	o := g.task("/old")
	f := g.pool.Look(t.Context(), o)
	if want := (freshet.Moved{URL: g.web.URL + "/new", At: o.At}); f.Moved != want {
		t.Fatalf("it has moved to %v, want %v: %s", f.Moved, want, f.Err)
	}
	o.Head.Moved, o.At = f.Moved, o.At.Add(time.Hour)
	if f := g.pool.Look(t.Context(), o); f.Moved != o.Head.Moved || g.web.Asked("/old") != 1 {
		t.Errorf("an hour later it has moved to %v, want %v; the old URL was asked for %d times", f.Moved, o.Head.Moved, g.web.Asked("/old"))
	}
}

// An impossible result fails the poll, and nothing of it is stored.
func TestImpossibleResultsFailThePoll(t *testing.T) {
	for name, lie := range map[string]func(*worker.Result){
		"no such result":           func(f *worker.Result) { f.Result = 77 },
		"changed without a text":   func(f *worker.Result) { f.Capture = nil },
		"failed with a text":       func(f *worker.Result) { f.Result, f.Failure = freshet.Failed, failure.Timeout },
		"failed without a class":   func(f *worker.Result) { f.Result, f.Capture = freshet.Failed, nil },
		"class that is no label":   func(f *worker.Result) { f.Result, f.Failure, f.Capture = freshet.Failed, "dns\"} 1\n", nil },
		"read by another recipe":   func(f *worker.Result) { f.Capture.Recipe = "another" },
		"text of another hash":     func(f *worker.Result) { f.Capture.Hash = freshet.HashOf([]byte("other")) },
		"no such suspicion":        func(f *worker.Result) { f.Suspect = "ghosts" },
		"no such status":           func(f *worker.Result) { f.Status = -200 },
		"index of no kind":         func(f *worker.Result) { f.Word = &evidence.IndexHint{Kind: 200} },
		"claim of no kind":         func(f *worker.Result) { f.Word = &evidence.IndexHint{Claims: []evidence.PageClaim{{Freq: 200}}} },
		"foretelling of no kind":   func(f *worker.Result) { f.Foretold = &evidence.Announcement{Next: []evidence.Next{{By: 200}}} },
		"more than was asked for":  func(f *worker.Result) { f.Shared = []worker.Result{*f} },
		"foretold again and again": func(f *worker.Result) { f.Foretold = &evidence.Announcement{Next: []evidence.Next{{Every: -1}}} },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.lies(liar{find: func(o worker.Task) worker.Result {
				f := captured(o)
				lie(&f)
				return f
			}})
			f := g.pool.Look(t.Context(), g.task("/"))
			if f.Result != freshet.Failed || !f.Failure.Is(failure.LocalHand) || f.Capture != nil || f.Word != nil {
				t.Errorf("the look ends with %s %s: %s", f.Result, f.Failure, f.Err)
			}
			if !strings.Contains(f.Err, "liar") || f.Requests != 1 {
				t.Errorf("it says %q and counts %d requests; want the name of the worker, and the one that was permitted", f.Err, f.Requests)
			}
		})
	}
}

// Values of a robots.txt result are clamped.
func TestRobotsOfAWorkerHaveBounds(t *testing.T) {
	g := newRig(t)
	g.lies(liar{manner: worker.RobotsResult{Requests: math.MaxInt, Bytes: -1, RetryAfter: math.MaxInt64}})
	m, err := g.pool.Robots(t.Context(), g.task("/"), g.web.URL)
	if err != nil || m.Requests != 1 || m.Bytes != 0 || m.RetryAfter != units.Day {
		t.Errorf("it made %d requests, brought %d bytes and asks to wait %s: %v", m.Requests, m.Bytes, m.RetryAfter, err)
	}
}

// The leader dates the end of a poll. Requests of a lost worker count as sent when it can send no
// more, also for the next leader, which knows only the log.
func TestEndOfALostWorkersPoll(t *testing.T) {
	const lease, total = 2 * time.Second, 3 * time.Second
	g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = lease, total })
	there := make(chan struct{}, 10)
	g.web.Mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		there <- struct{}{}
		<-r.Context().Done()
	})
	w, err := netfault.New(strings.TrimPrefix(g.leader.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	g.join("far", func(c *cluster.WorkerConfig) { c.Join = []string{"http://" + w.Address()} })
	found := g.begun(g.task("/"), there)
	w.Set(netfault.Dead)
	if f := <-found; f.Took < total || f.Requests != 1 || !f.Failure.Is(failure.LocalHand) {
		t.Errorf("it took %s, want at least %s; %d requests, %s", f.Took, total, f.Requests, f.Failure)
	}
}

// A large page may take longer than a lease over a slow network. The worker is not lost.
func TestALargePageOverASlowNetwork(t *testing.T) {
	const lease = 2 * time.Second
	g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = lease, time.Minute })
	g.web.PutHTML("/", "<p>"+strings.Repeat("many words and more ", 150_000))
	w, err := netfault.New(strings.TrimPrefix(g.leader.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	g.join("far", func(c *cluster.WorkerConfig) { c.Join = []string{"http://" + w.Address()} })
	w.Set(netfault.State{Delay: 100 * time.Millisecond}) // of each 64 KiB
	f := g.pool.Look(t.Context(), g.task("/"))
	if f.Result != freshet.First || len(f.Capture.Raw.Body) < 3_000_000 {
		t.Fatalf("the look ends with %s %s: %s", f.Result, f.Failure, f.Err)
	}
	if f.Took < 2*lease {
		t.Errorf("it took %s only, which shows nothing", f.Took)
	}
	if !g.has("far") {
		t.Error("the worker was lost")
	}
}
