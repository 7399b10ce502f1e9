package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
)

// Every kind of bad input is answered with a problem that names its place.
func TestProblems(t *testing.T) {
	r := newRig(t)
	r.Origin.Put("/page", "text/plain", "page\n")
	r.add("page", "/page")
	origin := r.Origin.URL
	source := func(rest string) string { return fmt.Sprintf(`{"url": "%s/other"%s}`, origin, rest) }
	many := strings.TrimSuffix(strings.Repeat(`"t",`, 40), ",")
	tests := []struct {
		name, method, path, body string
		status                   int
		location                 string
	}{
		{"no body", "POST", "/api/v1/sources", "", 400, ""},
		{"not JSON", "POST", "/api/v1/sources", "{", 400, "body"},
		{"not an object", "POST", "/api/v1/sources", "[]", 422, "body"},
		{"no URL", "POST", "/api/v1/sources", "{}", 422, "body"},
		{"unknown field", "POST", "/api/v1/sources", source(`, "titel": "x"`), 422, "body.titel"},
		{"unknown field of a part", "POST", "/api/v1/sources", source(`, "select": {"cs": "x"}`), 422, "body.select.cs"},
		{"wrong type", "POST", "/api/v1/sources", source(`, "paused": "yes"`), 422, "body.paused"},
		{"URL of another scheme", "POST", "/api/v1/sources", `{"url": "ftp://page.example/"}`, 422, "body.url"},
		{"URL with a password", "POST", "/api/v1/sources", `{"url": "http://a:b@page.example/"}`, 422, "body.url"},
		{"URL of a metadata service", "POST", "/api/v1/sources", `{"url": "http://169.254.169.254/"}`, 422, "body.url"},
		{"bad ID", "POST", "/api/v1/sources", source(`, "id": "a b"`), 422, "body.id"},
		{"long name", "POST", "/api/v1/sources", source(`, "name": "` + strings.Repeat("x", 201) + `"`), 422, "body.name"},
		{"name with a control character", "POST", "/api/v1/sources", source(`, "name": "a\u0007b"`), 422, "body.name"},
		{"empty tag", "POST", "/api/v1/sources", source(`, "tags": ["a", " "]`), 422, "body.tags[1]"},
		{"tag with a comma", "POST", "/api/v1/sources", source(`, "tags": ["a,b"]`), 422, "body.tags[0]"},
		{"many tags", "POST", "/api/v1/sources", source(`, "tags": [` + many + `]`), 422, "body.tags"},
		{"bad selector", "POST", "/api/v1/sources", source(`, "select": {"css": "p["}`), 422, "body.select.css"},
		{"bad path", "POST", "/api/v1/sources", source(`, "select": {"jsonpath": "$["}`), 422, "body.select.jsonpath"},
		{"bad kind", "POST", "/api/v1/sources", source(`, "select": {"kind": "doc"}`), 422, "body.select.kind"},
		{"two selectors", "POST", "/api/v1/sources", source(`, "select": {"css": "p", "jsonpath": "$"}`), 422, "body.select.jsonpath"},
		{"negative weight", "POST", "/api/v1/sources", source(`, "weight": -1`), 422, "body.weight"},
		{"bad gap", "POST", "/api/v1/sources", source(`, "min_gap": "soon"`), 422, "body.min_gap"},
		{"negative gap", "POST", "/api/v1/sources", source(`, "min_gap": "-5s"`), 422, "body.min_gap"},
		{"gaps crossed", "POST", "/api/v1/sources", source(`, "min_gap": "2h", "max_gap": "1h"`), 422, "body.max_gap"},
		{"negative keep", "POST", "/api/v1/sources", source(`, "keep": {"versions": -1}`), 422, "body.keep.versions"},
		{"edit of an unknown field", "PATCH", "/api/v1/sources/page", `{"origin": "file"}`, 422, "body.origin"},
		{"edit of a wrong type", "PATCH", "/api/v1/sources/page", `{"select": {"css": 5}}`, 422, "body.select.css"},
		{"edit without URL", "PATCH", "/api/v1/sources/page", `{"url": null}`, 422, "body.url"},
		{"edit to a bad gap", "PATCH", "/api/v1/sources/page", `{"max_gap": "1y"}`, 422, "body.max_gap"},
		{"edit of no source", "PATCH", "/api/v1/sources/nobody", `{}`, 404, ""},
		{"no such source", "GET", "/api/v1/sources/nobody", "", 404, ""},
		{"removal of no source", "DELETE", "/api/v1/sources/nobody", "", 404, ""},
		{"purge of a strange kind", "DELETE", "/api/v1/sources/page?purge=perhaps", "", 422, "query.purge"},
		{"poll of no source", "POST", "/api/v1/sources/nobody/poll", "", 404, ""},
		{"chances of no source", "PUT", "/api/v1/sources/nobody/chances", `{"rate_per_day": 1, "until": "2199-01-01T00:00:00Z"}`, 404, ""},
		{"no chances", "GET", "/api/v1/sources/page/chances", "", 404, ""},
		{"chances of nothing", "PUT", "/api/v1/sources/page/chances", `{}`, 422, "body.times"},
		{"a rate without an end", "PUT", "/api/v1/sources/page/chances", `{"rate_per_day": 1}`, 422, "body.until"},
		{"a rate below nothing", "PUT", "/api/v1/sources/page/chances", `{"rate_per_day": -1}`, 422, "body.rate_per_day"},
		{"a chance above one", "PUT", "/api/v1/sources/page/chances", `{"times": [{"at": "2100-01-01T00:00:00Z", "chance": 1.5}]}`, 422, "body.times[0].chance"},
		{"a chance at no time", "PUT", "/api/v1/sources/page/chances", `{"times": [{"at": "noon"}]}`, 422, "body.times[0].at"},
		{"a chance that was over long ago", "PUT", "/api/v1/sources/page/chances", `{"times": [{"at": "2020-01-01T00:00:00Z"}]}`, 422, "body.until"},
		{"two kinds of chance", "PUT", "/api/v1/sources/page/chances", `{"until": "2100-01-02T00:00:00Z", "from": "2100-01-01T00:00:00Z", "times": [{"at": "2100-01-01T00:00:00Z", "chance": 1, "expected": 1}]}`, 422, "body.times[0].expected"},
		{"a strange chance", "PUT", "/api/v1/sources/page/chances", `{"times": [{"at": "2100-01-01T00:00:00Z", "odds": 1}]}`, 422, "body.times[0].odds"},
		{"too many chances", "PUT", "/api/v1/sources/page/chances", `{"times": [` + strings.Repeat(`{"at": "2100-01-01T00:00:00Z"},`, 10_000) + `{"at": "2100-01-01T00:00:00Z"}]}`, 422, "body.times"},
		{"poll with a bad wait", "POST", "/api/v1/sources/page/poll?wait=long", "", 422, "query.wait"},
		{"poll without a daemon", "POST", "/api/v1/sources/page/poll", "", 503, ""},
		{"poll without a daemon or wait", "POST", "/api/v1/sources/page/poll?wait=0", "", 503, ""},
		{"versions of no source", "GET", "/api/v1/sources/nobody/versions", "", 404, ""},
		{"no version yet", "GET", "/api/v1/sources/page/versions/latest", "", 404, ""},
		{"no such version", "GET", "/api/v1/sources/page/versions/7/text", "", 404, ""},
		{"no such raw body", "GET", "/api/v1/sources/page/versions/7/raw", "", 404, ""},
		{"version that is no number", "GET", "/api/v1/sources/page/versions/one/text", "", 422, "path.number"},
		{"version zero", "GET", "/api/v1/sources/page/versions/0", "", 422, "path.number"},
		{"diff of nothing", "GET", "/api/v1/sources/page/diff", "", 404, ""},
		{"diff in a strange format", "GET", "/api/v1/sources/page/diff?format=pdf", "", 422, "query.format"},
		{"outcomes of no source", "GET", "/api/v1/sources/nobody/outcomes", "", 404, ""},
		{"bad cursor", "GET", "/api/v1/changes?after=x", "", 422, "query.after"},
		{"negative cursor", "GET", "/api/v1/changes?after=-1", "", 422, "query.after"},
		{"huge cursor", "GET", "/api/v1/changes?after=99999999999999999999", "", 422, "query.after"},
		{"no items wanted", "GET", "/api/v1/changes?limit=0", "", 422, "query.limit"},
		{"bad wait", "GET", "/api/v1/changes?wait=1", "", 422, "query.wait"},
		{"misspelt parameter", "GET", "/api/v1/changes?affter=1", "", 422, "query.affter"},
		{"bad place", "GET", "/api/v1/changes/stream?after=x", "", 422, "query.after"},
		{"budget for a strange share", "GET", "/api/v1/budget?share=most", "", 422, "query.share"},
		{"budget for a strange delay", "GET", "/api/v1/budget?delay=soon", "", 422, "query.delay"},
		{"budget without a strange choice", "GET", "/api/v1/budget?drop=tag:", "", 422, "query.drop"},
		{"budget over no span", "GET", "/api/v1/budget?span=NaN", "", 422, "query.span"},
		{"numbers by a strange kind", "GET", "/api/v1/numbers?by=moon", "", 422, "query.by"},
		{"days of no zone", "GET", "/api/v1/numbers/days?zone=Moon/Tycho", "", 422, "query.zone"},
		{"days of no time", "GET", "/api/v1/numbers/days?since=soon", "", 422, "query.since"},
		{"days of a thousand years", "GET", "/api/v1/numbers/days?since=1026-01-01", "", 422, "query.since"},
		{"why of no source", "GET", "/api/v1/sources/nobody/why", "", 404, ""},
		{"no reload", "POST", "/api/v1/reload", "", 501, ""},
		{"no such path", "GET", "/api/v2/sources", "", 404, ""},
		{"no such method", "PUT", "/api/v1/sources", "", 405, ""},
		{"body too large", "POST", "/api/v1/sources", `{"url": "` + strings.Repeat("x", 1<<20) + `"}`, 413, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body any
			if tt.body != "" {
				body = tt.body
			}
			a := r.do(tt.method, tt.path, body)
			if a.Status != tt.status {
				t.Fatalf("answered %d, want %d: %s", a.Status, tt.status, a.Body)
			}
			if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("a problem of type %q: %s", got, a.Body)
			}
			if got := a.Header.Values("Retry-After"); (len(got) == 1) != (a.Status == 503) {
				t.Errorf("when to try again: %q", got)
			}
			var p rest.Problem
			a.into(&p)
			if p.Status != tt.status || p.Title != http.StatusText(tt.status) || p.Detail == "" {
				t.Errorf("the problem is %s", a.Body)
			}
			var at []string
			for _, e := range p.Errors {
				at = append(at, e.Location)
			}
			if got := strings.Join(at, " "); !strings.Contains(" "+got+" ", " "+tt.location+" ") {
				t.Errorf("the problem is at %q, want %q: %s", got, tt.location, a.Body)
			}
		})
	}
	var list client.SourcePage
	r.do("GET", "/api/v1/sources", nil).is(200).into(&list)
	if len(list.Items) != 1 || list.Items[0].URL != origin+"/page" {
		t.Errorf("bad input has changed the sources to %+v", list.Items)
	}
}

func TestConflict(t *testing.T) {
	r := newRig(t)
	r.add("page", "/page")
	r.add("other", "/other")
	for _, a := range []answer{
		r.do("POST", "/api/v1/sources", map[string]string{"url": r.Origin.URL + "/page"}),
		r.do("PATCH", "/api/v1/sources/other", map[string]string{"url": r.Origin.URL + "/page"}),
	} {
		var p rest.Problem
		a.is(409).into(&p)
		if p.Existing != "page" {
			t.Errorf("the source in the way is %q, want page: %s", p.Existing, a.Body)
		}
	}
	// The same page read otherwise is another source.
	r.do("POST", "/api/v1/sources", map[string]any{"url": r.Origin.URL + "/page", "select": map[string]string{"css": "p"}}).is(201)
}

func TestHintReachesTheClient(t *testing.T) {
	r := newRig(t)
	var p rest.Problem
	r.do("POST", "/api/v1/sources", map[string]string{"url": "http://10.0.0.1/"}).is(422).into(&p)
	if !strings.Contains(p.Hint, "--allow-cidr") {
		t.Errorf("a private address is refused with the hint %q", p.Hint)
	}
}

// A store that cannot be written.
type fullStore struct{ api.Store }

func (fullStore) LastChange(context.Context) (freshet.Cursor, error) {
	return 0, freshet.WithHint(fmt.Errorf("sync: %w", freshet.ErrStorage), "make room")
}

func TestStorageTrouble(t *testing.T) {
	r := newRig(t, func(c *api.Config) { c.Store = fullStore{c.Store} })
	var p rest.Problem
	r.do("GET", "/api/v1/changes", nil).is(503).into(&p)
	if p.Hint != "make room" {
		t.Errorf("the hint is %q", p.Hint)
	}
}

func TestReload(t *testing.T) {
	var fault error
	n := 0
	r := newRig(t, func(c *api.Config) {
		c.Program.Reload = func(context.Context) error { n++; return fault }
	})
	r.do("GET", "/api/v1/reload", nil).is(405)
	r.do("POST", "/api/v1/reload", nil).is(204)
	fault = freshet.WithHint(errors.New(`freshet.yaml:3:1: unknown key "budgett"`), `did you mean "budget"?`)
	var p rest.Problem
	r.do("POST", "/api/v1/reload", nil).is(422).into(&p)
	if n != 2 || !strings.Contains(p.Detail, "freshet.yaml:3:1") || p.Hint == "" {
		t.Errorf("the second of %d reloads answered %+v", n, p)
	}
}
