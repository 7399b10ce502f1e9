package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

const shopPage = `<title>Red kettle</title><script type="application/ld+json">{"@type":"Product","offers":{"price":101,"priceCurrency":"EUR"}}</script><h1>Red kettle</h1><p>101 EUR</p>`

// A probe says what a page has, stores nothing, and counts against the budget.
func TestProbe(t *testing.T) {
	r := newRig(t, readHere).run()
	r.Origin.Put("/kettle", "text/html; charset=utf-8", shopPage)
	p := readJSON[client.Probe](t, r.do("POST", "/api/v1/probe", map[string]any{"url": r.Origin.URL + "/kettle"}).is(200))
	if p.Title != "Red kettle" || !strings.Contains(p.Text, "101 EUR") || p.Status != 200 || p.Failure != "" || len(p.Remedies) != 0 || p.Known != "" {
		t.Errorf("the probe is %+v", p)
	}
	if i := slices.IndexFunc(p.Items, func(s client.Suggestion) bool { return s.Extract["price"] != nil }); i < 0 || fmt.Sprint(p.Items[i].Fields["price"]) != "101" {
		t.Errorf("the ways to read it are %+v", p.Items)
	}
	if list := readJSON[client.SourcePage](t, r.do("GET", "/api/v1/sources", nil).is(200)); len(list.Items) != 0 {
		t.Errorf("a probe added %+v", list.Items)
	}
	if log, err := r.Store.Outcomes(t.Context(), freshet.OutcomeQuery{Limit: 10}); err != nil || len(log) != 0 {
		t.Errorf("a probe left the outcomes %+v, %v", log, err)
	}
	sent, err := r.Store.Attempts(t.Context(), time.Time{})
	if err != nil || len(sent) != 1 || sent[0].Source != "" || sent[0].Route == "" {
		t.Errorf("the attempts on record are %+v, %v; want the one of the probe", sent, err)
	}

	outline := readJSON[client.Outline](t, r.do("GET", "/api/v1/probe/"+p.ID+"/outline", nil).is(200))
	if !slices.ContainsFunc(outline.Items, func(i client.OutlineItem) bool { return i.Text == "101 EUR" }) {
		t.Errorf("the outline is %+v", outline)
	}
	if a := r.do("GET", "/api/v1/probe/"+p.ID+"/rendered?pick=true", nil).is(200); !strings.Contains(a.Header.Get("Content-Security-Policy"), "sandbox allow-scripts") || strings.Contains(string(a.Body), "ld+json") {
		t.Errorf("the picture is %s with the policy %s", a.Body, a.Header.Get("Content-Security-Policy"))
	}
	r.do("GET", "/api/v1/probe/none/outline", nil).is(404)

	r.do("POST", "/api/v1/sources", map[string]any{"id": "kettle", "url": r.Origin.URL + "/kettle"}).is(201)
	if p := readJSON[client.Probe](t, r.do("POST", "/api/v1/probe", map[string]any{"url": r.Origin.URL + "/kettle"}).is(200)); p.Known != "kettle" {
		t.Errorf("the page is watched as kettle, the probe says %q", p.Known)
	}
	r.do("POST", "/api/v1/probe", map[string]any{"url": "ftp://example.com/"}).is(422)
}

// What is wrong with a page comes with what may help.
func TestProbeRemedies(t *testing.T) {
	r := newRig(t, readHere).run()
	r.Origin.Put("/app", "text/html", `<!doctype html><title>App</title><div id=root></div><script src=/app.js></script>`)
	r.Origin.Put("/loading", "text/html", `<!doctype html><title>App</title><div id=root>Loading…</div>`+"<script>"+strings.Repeat("// code\n", 60)+"</script>")
	r.Origin.Put("/signin", "text/html", `<title>Log in</title><form><input name=user><input type=password></form><p>Please log in to continue</p>`)
	r.Origin.Answer("/private", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	r.Origin.Answer("/old", func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, "/new", http.StatusMovedPermanently) })
	r.Origin.Put("/new", "text/html", "<title>New</title><p>Here is the page now, and it has some words.</p>")
	r.Origin.Put("/picture", "image/png", "\x89PNG\r\n\x1a\n")
	for path, want := range map[string]string{"/picture": "choose", "/app": "render", "/loading": "render", "/private": "login", "/old": "follow"} {
		p := readJSON[client.Probe](t, r.do("POST", "/api/v1/probe", map[string]any{"url": r.Origin.URL + path}).is(200))
		if !slices.ContainsFunc(p.Remedies, func(m client.Remedy) bool { return m.What == want && m.Why != "" && m.Words != "" && m.Command != "" }) {
			t.Errorf("%s: the remedies are %+v, want %s", path, p.Remedies, want)
		}
	}
}

// The remedies of a source can be sent as they are: each edit is one that the source takes.
func TestRemediesOfSource(t *testing.T) {
	r := newRig(t, readHere).run()
	r.Origin.Put("/app", "text/html", `<!doctype html><title>App</title><div id=root></div><script src=/app.js></script>`)
	r.do("POST", "/api/v1/sources", map[string]any{"id": "app", "url": r.Origin.URL + "/app"}).is(201)
	r.do("POST", "/api/v1/sources/app/poll", nil).is(200)
	s := readJSON[client.Source](t, r.do("GET", "/api/v1/sources/app", nil).is(200))
	if len(s.Standing.Remedies) == 0 || s.Standing.Remedies[0].What != "render" || s.Standing.Remedies[0].Command != "freshet edit app --render" {
		t.Fatalf("the remedies are %+v", s.Standing.Remedies)
	}
	r.Origin.Put("/picture", "image/png", "\x89PNG\r\n\x1a\n")
	r.do("POST", "/api/v1/sources", map[string]any{"id": "picture", "url": r.Origin.URL + "/picture"}).is(201)
	r.do("POST", "/api/v1/sources/picture/poll", nil).is(200)
	if p := readJSON[client.Source](t, r.do("GET", "/api/v1/sources/picture", nil).is(200)); len(p.Standing.Remedies) != 1 || !strings.Contains(p.Standing.Remedies[0].Why, "checksum") {
		t.Errorf("the remedies of a picture are %+v", p.Standing.Remedies)
	}
	for _, m := range s.Standing.Remedies {
		if m.Edit != nil {
			r.do("PATCH", "/api/v1/sources/app", m.Edit).is(200)
		}
	}
}

// The first poll is made once, also if several callers wait for it.
func TestFirstPollOnce(t *testing.T) {
	r := newRigWith(t, func(c *daemon.Config) { c.Policy, c.Limits.SourceGap = &policy.RoundRobin{}, time.Hour }).run()
	for i := range 8 {
		path := fmt.Sprintf("/p%d", i)
		r.Origin.Put(path, "text/plain", "one\n")
		r.do("POST", "/api/v1/sources", map[string]any{"id": fmt.Sprintf("s%d", i), "url": r.Origin.URL + path}).is(201)
		a := readJSON[client.PollAnswer](t, r.do("POST", fmt.Sprintf("/api/v1/sources/s%d/poll?first=true", i), nil).is(200))
		if a.Outcome == nil || a.Outcome.Result != "first" {
			t.Errorf("the first poll of %d ended with %+v", i, a.Outcome)
		}
		if n := r.Origin.Asked(path); n != 1 {
			t.Errorf("the first poll made %d requests", n)
		}
	}
}

// A probe waits for the budget, and polls wait for it.
func TestProbeKeepsBudget(t *testing.T) {
	r := newRigWith(t, func(c *daemon.Config) { c.Limits.Budget = sched.Budget{Polls: 2, Per: time.Hour} }).run()
	r.Origin.Put("/a", "text/plain", "one\n")
	for range 2 {
		r.do("POST", "/api/v1/probe", map[string]any{"url": r.Origin.URL + "/a"}).is(200)
	}
	r.do("POST", "/api/v1/sources", map[string]any{"id": "a", "url": r.Origin.URL + "/a"}).is(201)
	r.do("POST", "/api/v1/sources/a/poll?wait=300ms", nil).is(202)
	if n := r.Origin.Asked("/a"); n != 2 {
		t.Errorf("with a budget of 2 there were %d requests", n)
	}
}
