package api_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

func TestHealth(t *testing.T) {
	fault := errors.New("the disk is on fire")
	r := newRig(t, func(c *api.Config) { c.Program.Ready = func() error { return fault } })
	r.do("GET", "/healthz", nil).is(200)
	if a := r.do("GET", "/readyz", nil).is(503); !strings.Contains(string(a.Body), "polling is not running") {
		t.Errorf("a daemon that does not run is not ready because %s", a.Body)
	}
	r.run()
	if a := r.do("GET", "/readyz", nil).is(503); !strings.Contains(string(a.Body), "on fire") {
		t.Errorf("the program is not ready because %s", a.Body)
	}
	var s client.Status
	r.do("GET", "/api/v1/status", nil).is(200).into(&s)
	if s.Ready || !s.Running || s.Trouble != fault.Error() {
		t.Errorf("the status is %+v", s)
	}
	fault = nil
	r.do("GET", "/readyz", nil).is(200)
	r.do("HEAD", "/readyz", nil).is(200)
}

func TestStatus(t *testing.T) {
	r := newRig(t, func(c *api.Config) {
		c.Sinks = sinksOf(t, c, "sink")
		c.Program.Size = func() (int64, error) { return 4096, nil }
	}).run()
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page")
	r.poll("page")
	r.capture("page", 1)
	if err := sinks.NewStore(r.Store.DB()).Advance(t.Context(), "sink", sinks.Position{Cursor: 1}, []sinks.NewDelivery{{Cursor: 1}}); err != nil {
		t.Fatal(err)
	}
	var s client.Status
	r.do("GET", "/api/v1/status", nil).is(200).into(&s)
	if !s.Ready || s.Version != "test" || s.Sources != 1 || s.Polls != 1 || s.Captured != 1 || s.LastChange.String() != "1~rig" || s.StoreBytes != 4096 || s.Budget == "" {
		t.Errorf("the status is %+v", s)
	}
	if len(s.Sinks) != 1 || s.Sinks[0] != (client.Sink{Name: "sink", Kind: "webhook", State: client.SinkOK, Place: freshet.Place{Cursor: 1, Epoch: "rig"}, Open: 1}) {
		t.Errorf("the sinks are %+v", s.Sinks)
	}
}

// An away is a store whose logs cannot be read.
type away struct{ api.Store }

func (away) LastChange(context.Context) (freshet.Cursor, error) { return 0, errAway }

func (away) Changes(context.Context, freshet.ChangeQuery) ([]freshet.Change, error) {
	return nil, errAway
}

var errAway = fmt.Errorf("%w: the database is away", freshet.ErrStorage)

// While the store cannot be read, the status says so, and all that is known without it.
func TestStatusWithoutTheStore(t *testing.T) {
	r := newRig(t, func(c *api.Config) {
		c.Store = away{c.Store}
	}).run()
	r.add("page", "/page")
	var s client.Status
	r.do("GET", "/api/v1/status", nil).is(200).into(&s)
	if s.Ready || !strings.Contains(s.Trouble, "the database is away") || s.Sources != 1 || s.Budget == "" {
		t.Errorf("the status is %+v", s)
	}
	var o client.Overview
	r.do("GET", "/api/v1/overview", nil).is(200).into(&o)
	if o.Status.Ready || len(o.Attention) == 0 || o.Status.Sources != 1 {
		t.Errorf("the overview is %+v", o)
	}
}

func TestMetrics(t *testing.T) {
	var metrics *api.Metrics
	r := newRig(t, func(c *api.Config) {
		metrics = c.Metrics
		c.Sinks = sinksOf(t, c, "sink")
		c.Program.Size = func() (int64, error) { return 4096, nil }
	}).run()
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page")
	r.add("missing", "/missing")
	r.poll("page")
	r.Origin.Put("/page", "text/plain", "two\n")
	r.poll("page")
	r.poll("missing")
	metrics.Delivery(delivery.Delivery{Sink: "sink", Took: time.Second})
	metrics.Delivery(delivery.Delivery{Sink: "sink", Err: errors.New("no")})
	metrics.Delivery(delivery.Delivery{Sink: "sink", Err: errors.New("no"), GivenUp: true})
	wanted := []string{
		`freshet_polls_total{failure="",result="first"} 1`,
		`freshet_polls_total{failure="",result="changed"} 1`,
		`freshet_polls_total{failure="http.404",result="failed"} 1`,
		`freshet_poll_seconds_count{result="changed"} 1`,
		`freshet_requests_total 3`,
		`freshet_captured_versions_total 2`,
		`freshet_changes_total 1`,
		`freshet_sources 2`,
		`freshet_polls_under_way 0`,
		`freshet_ready 1`,
		`freshet_budget_polls_per_second 16666.666666666668`,
		`freshet_late_seconds `,
		`freshet_most_late_seconds `,
		`freshet_fetched_bytes_total `,
		`freshet_store_bytes 4096`,
		`freshet_build_info{version="test"} 1`,
		`freshet_deliveries_total{result="delivered",sink="sink"} 1`,
		`freshet_deliveries_total{result="failed",sink="sink"} 1`,
		`freshet_deliveries_total{result="given_up",sink="sink"} 1`,
		`freshet_delivery_seconds_count{sink="sink"} 3`,
		`freshet_deliveries_owed{sink="sink",state="open"} 0`,
		`go_goroutines `,
	}
	// Who asked for a poll hears of it before all of it is counted.
	text, missing := "", wanted
	for end := time.Now().Add(time.Minute); len(missing) > 0 && time.Now().Before(end); {
		text = string(r.do("GET", "/metrics", nil).is(200).Body)
		missing = slices.DeleteFunc(slices.Clone(wanted), func(line string) bool { return strings.Contains(text, "\n"+line) })
	}
	for _, line := range missing {
		t.Errorf("the metrics have no line %q", line)
	}
	ours := regexp.MustCompile(`(?m)^# TYPE (\S+) `)
	for _, m := range ours.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "# HELP "+m[1]+" ") {
			t.Errorf("%s has no help", m[1])
		}
	}
}

// The page is at every address of a screen, and its files are there.
func TestPage(t *testing.T) {
	r := newRig(t)
	files := regexp.MustCompile(`(?:href|src)="(/assets/[^"]+)"`)
	early := regexp.MustCompile(`as="fetch" crossorigin href="([^"]+)"`)
	for _, path := range []string{"/", "/sources", "/sources/a/settings", "/queries/new", "/start"} {
		a := r.do("GET", path, nil).is(200)
		found := files.FindAllStringSubmatch(string(a.Body), -1)
		if len(found) < 2 || len(found) > 8 {
			t.Fatalf("%s names %d files, want a script, what it imports and a style", path, len(found))
		}
		for _, f := range found {
			if got := r.do("GET", f[1], nil).is(200); !strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s is not kept by browsers: %v", f[1], got.Header)
			}
		}
		asked := early.FindAllStringSubmatch(string(a.Body), -1)
		if len(asked) == 0 {
			t.Errorf("%s asks for nothing before its script is there", path)
		}
		for _, f := range asked {
			r.do("GET", html.UnescapeString(f[1]), nil).is(200)
		}
		policy := a.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy has no %s: %s", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %s", path, policy)
		}
	}
	r.do("GET", "/assets/app-none.js", nil).is(404)
	r.do("GET", "/nothing", nil).is(404)
	for accept, want := range map[string]string{"text/html,*/*;q=0.8": "text/html", "application/json": "application/problem+json", "*/*": "application/problem+json"} {
		for _, path := range []string{"/nothing", "/sinks.html"} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", r.API.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept", accept)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 404 || !strings.HasPrefix(resp.Header.Get("Content-Type"), want) {
				t.Errorf("%s for %s: %d %s, want 404 %s", path, accept, resp.StatusCode, resp.Header.Get("Content-Type"), want)
			}
		}
	}
}

// Whatever the parameters are, the answer is a page or a problem.
func FuzzChangesQuery(f *testing.F) {
	r := newRig(f)
	r.watch("page")
	r.capture("page", 1)
	for _, query := range []string{"after=0", "after=-1&limit=1", "limit=99999999999", "after=1e3&wait=0", "after=%00", "after=1&after=2", "after=1~rig", "after=2~rig", "after=1~other", "&&=", "source=..%2f"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if strings.Contains(query, "wait") || strings.ContainsFunc(query, func(c rune) bool { return c <= ' ' || c == '#' || c > '~' }) {
			t.Skip("would wait, or is no query")
		}
		a, err := ask(t, t.Context(), "GET", r.API.URL+"/api/v1/changes?"+query, nil)
		if err != nil {
			t.Skip(err) // not a request that a client can send
		}
		switch a.Status {
		case 200, 410, 422:
		case 400:
			if !strings.Contains(string(a.Body), "Bad Request") {
				t.Errorf("%q answered %s", query, a.Body)
			}
		default:
			t.Errorf("%q answered %d: %s", query, a.Status, a.Body)
		}
	})
}
