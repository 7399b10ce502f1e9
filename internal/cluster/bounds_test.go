package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

// permitted makes a task record which requests are permitted.
func permitted(o *worker.Task) func() []string {
	var mu sync.Mutex
	var urls []string
	o.Permit = func(_ context.Context, hop freshet.Hop) error {
		mu.Lock()
		defer mu.Unlock()
		urls = append(urls, hop.URL)
		return nil
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(urls)
	}
}

// A worker that invents redirects gets no more permits than real redirects would, and only for http
// and https URLs.
func TestInventedRedirectsAreBounded(t *testing.T) {
	g := newRig(t, func(c *cluster.Config) { c.Redirects = 3 })
	r := g.raw()
	r.enter("forger")
	kit.Until(g, "it has come", func() bool { return g.has("forger") })
	o := g.task("/")
	urls := permitted(&o)
	looked := make(chan worker.Result, 1)
	go func() { looked <- g.pool.Look(t.Context(), o) }()
	id := r.order(t).ID
	asks := []string{"file:///etc/passwd", "exec:reboot", "http://", "dns:bank.example", strings.Repeat("http://long.example/", 10_000)}
	for i := range 20 {
		asks = append(asks, fmt.Sprintf("http://bank%d.example/", i))
	}
	for _, url := range asks {
		r.say("ask", id, map[string]any{"what": "leave", "hop": map[string]any{"URL": url, "Aside": true}})
	}
	for n := 0; n < len(asks); {
		f, err := r.hear()
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == "answer" {
			n++
		}
	}
	r.fail(id)
	<-looked
	if all := urls(); len(all) != 4 || all[0] != o.Source.URL || slices.ContainsFunc(all[1:], func(url string) bool { return !strings.HasPrefix(url, "http://bank") }) {
		t.Errorf("permitted were %d requests, want the source and three redirects: %.100q", len(all), all)
	}
}

// A worker whose polls are all redirected as often as possible exhausts its quota of requests.
func TestAWorkerRunsOutOfRedirects(t *testing.T) {
	const looks = 30
	g := newRig(t)
	g.lies(liar{find: func(o worker.Task) worker.Result {
		o.Permit(context.Background(), freshet.Hop{URL: o.Source.URL}) // it has that already
		for i := range 5 {
			if err := o.Permit(context.Background(), freshet.Hop{URL: fmt.Sprintf("http://bank%d.example/", i)}); err != nil {
				return o.Fail(err)
			}
		}
		return captured(o)
	}})
	all, refused := 0, failure.Class("")
	for range looks {
		o := g.task("/")
		urls := permitted(&o)
		if f := g.pool.Look(t.Context(), o); f.Result == freshet.Failed {
			refused = f.Failure
		}
		all += len(urls()) - 1
	}
	if all > 30+3*looks || all < 3*looks || refused != failure.DeferredBudget {
		t.Errorf("%d redirects were permitted in %d looks; the last that was refused failed with %q", all, looks, refused)
	}
}

// Back-off of the source's own host applies to its other sources. Back-off of hosts that redirects
// or subresources led to applies only to this source and this worker.
func TestBackoffOfOtherHosts(t *testing.T) {
	for name, row := range map[string]struct {
		led     string // where redirects lead, or nowhere
		failure failure.Class
		want    failure.Class
	}{
		"its own host":                  {failure: failure.RetryAfter, want: failure.RetryAfter},
		"another host":                  {led: "http://bank.example/", failure: failure.RetryAfter, want: "redirect.target.retry_after"},
		"another host is slow":          {led: "http://bank.example/", failure: failure.TimeoutHeader, want: "redirect.target.timeout"},
		"another host has no such page": {led: "http://bank.example/", failure: "http.404", want: "redirect.target.http"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			own := freshet.HostOf(g.web.URL)
			g.lies(liar{find: func(o worker.Task) worker.Result {
				if row.led != "" {
					if err := o.Permit(context.Background(), freshet.Hop{URL: row.led}); err != nil {
						return o.Fail(err)
					}
				}
				f := o.Fail(&freshet.FetchError{Class: row.failure, Err: errors.New("so it says")})
				f.Requests, f.RetryAfter = 2, 24*time.Hour
				f.HostBackoffs = map[string]time.Duration{"bank.example": 24 * time.Hour, "shop.example": 24 * time.Hour, own: time.Hour}
				return f
			}})
			o := g.task("/")
			f := g.pool.Look(t.Context(), o)
			if f.Failure != row.want || f.RetryAfter != 24*time.Hour {
				t.Errorf("it fails with %s and asks to wait %s, want %s", f.Failure, f.RetryAfter, row.want)
			}
			if hosts := slices.Collect(maps.Keys(f.HostBackoffs)); !slices.Equal(hosts, []string{own}) {
				t.Errorf("it shuts %v, want only the source's own host %s", hosts, own)
			}
			if row.led == "" {
				return
			}
			urls := permitted(&o)
			if f := g.pool.Look(t.Context(), o); f.Failure != "redirect.target.retry_after" || len(urls()) != 1 {
				t.Errorf("the worker itself is permitted %v again, and fails with %s", urls(), f.Failure)
			}
		})
	}
}

// A worker that captured a page cannot report back-off of another host.
func TestBackoffOfAnUnrequestedHost(t *testing.T) {
	g := newRig(t)
	g.lies(liar{find: func(o worker.Task) worker.Result {
		o.Permit(context.Background(), freshet.Hop{URL: "http://bank.example/"})
		f := captured(o)
		f.RetryAfter = time.Hour
		return f
	}})
	if f := g.pool.Look(t.Context(), g.task("/")); f.Result != freshet.First || f.RetryAfter != 0 {
		t.Errorf("the look ends with %s and asks to wait %s: %s", f.Result, f.RetryAfter, f.Err)
	}
}

// A worker that gets a permit and is never heard of again does not block the host forever.
func TestAWorkerThatNeverFinishes(t *testing.T) {
	g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = 300*time.Millisecond, 100*time.Millisecond })
	r := g.raw()
	r.enter("silent")
	kit.Until(g, "it has come", func() bool { return g.has("silent") })
	looked := make(chan worker.Result, 1)
	go func() { looked <- g.pool.Look(t.Context(), g.task("/")) }()
	r.order(t)
	f := <-looked
	if f.Failure != failure.LocalHand || !strings.Contains(f.Err, "did not finish") || f.Requests != 1 {
		t.Errorf("the look ends with %s after %d requests: %s", f.Failure, f.Requests, f.Err)
	}
}

// The robots.txt of a host counts for all its sources, so the leader itself reads that of a
// redirect's target.
func TestRobotsOfAnotherHostAreReadByTheLeader(t *testing.T) {
	own := liar{manner: worker.RobotsResult{Requests: 7}}
	g := newRig(t, func(c *cluster.Config) { c.Own = own })
	g.lies(liar{manner: worker.RobotsResult{Requests: 1}})
	m, err := g.pool.Robots(t.Context(), g.task("/"), "http://bank.example")
	if err != nil || m.Requests != 7 {
		t.Errorf("it was read by somebody else: %+v, %v", m, err)
	}
	m, err = g.pool.Robots(t.Context(), g.task("/"), g.web.URL)
	if err != nil || m.Requests != 1 {
		t.Errorf("that of the source's own host was read by the leader: %+v, %v", m, err)
	}
}

// Only trusted workers see URLs that are shown masked.
func TestSecretsStayWithTheLeader(t *testing.T) {
	const secret, moved = "https://bank.example/feed?api_key=4711", "https://bank.example/?token=4711"
	look := func(g *rig, s freshet.Source, head freshet.Head) worker.Result {
		return g.pool.Look(g.Context(), worker.Task{Source: s, Head: head, At: time.Now(), History: seen{}})
	}
	here := liar{find: func(o worker.Task) worker.Result { return o.Fail(errors.New("the leader")) }}
	far := func(c *cluster.WorkerConfig) {
		c.Place = "far"
		c.Open = func(cluster.Terms) (worker.Looker, error) {
			return liar{find: func(o worker.Task) worker.Result { return o.Fail(errors.New("the worker")) }}, nil
		}
	}
	for name, row := range map[string]struct {
		source  freshet.Source
		head    freshet.Head
		trusted bool
		want    string
	}{
		"no secret":                   {source: freshet.Source{URL: "https://bank.example/?page=1"}, want: "the worker"},
		"secret":                      {source: freshet.Source{URL: secret}, want: "the leader"},
		"user and password":           {source: freshet.Source{URL: "https://u:p@bank.example/"}, want: "the leader"},
		"where it has moved":          {source: freshet.Source{URL: "https://bank.example/"}, head: freshet.Head{Moved: freshet.Moved{URL: moved}}, want: "the leader"},
		"secret, trusted":             {source: freshet.Source{URL: secret}, trusted: true, want: "the worker"},
		"secret, at a place":          {source: freshet.Source{URL: secret, From: "far"}, want: `no worker at "far" is trusted with the secret`},
		"secret, at a place, trusted": {source: freshet.Source{URL: secret, From: "far"}, trusted: true, want: "the worker"},
		"secret, at no such place":    {source: freshet.Source{URL: secret, From: "near"}, want: `no connected worker at "near"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(c *cluster.Config) {
				c.Own, c.Trusts = here, func(_ context.Context, shown string) (bool, error) { return row.trusted && shown == token, nil }
			})
			g.join("far", far)
			kit.Until(g, "it takes tasks", func() bool {
				return look(g, freshet.Source{URL: "https://plain.example/", From: "far"}, freshet.Head{}).Err == "the worker"
			})
			if s := g.pool.Status()[0]; s.Trusted != row.trusted {
				t.Errorf("it is shown as %+v", s)
			}
			if f := look(g, row.source, row.head); !strings.Contains(f.Err, row.want) {
				t.Errorf("the look ends with %s: %s, want %s", f.Failure, f.Err, row.want)
			}
		})
	}
}
