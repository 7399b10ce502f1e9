package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"freshet/internal/api"
)

// Captured content is somebody else's: no browser may run it.
func TestRawIsNeverActive(t *testing.T) {
	r := newRig(t).run()
	for id, p := range map[string]struct{ mediaType, body string }{
		"html":   {"text/html", "<script>alert(1)</script>"},
		"svg":    {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`},
		"script": {"text/javascript", "alert(1)"},
		"xml":    {"application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>`},
		"liar":   {"text/plain", "<html><script>alert(1)</script>"},
	} {
		r.Origin.Put("/"+id, p.mediaType, p.body)
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + id, "select": map[string]string{"kind": "text"}}).is(201)
		r.poll(id)
		raw := r.do("GET", "/api/v1/sources/"+id+"/versions/1/raw", nil).is(200)
		if string(raw.Body) != p.body {
			t.Errorf("the raw body of %s is %q, want %q", id, raw.Body, p.body)
		}
		for name, want := range map[string]string{
			"Content-Type":            "application/octet-stream",
			"X-Content-Type-Options":  "nosniff",
			"Cache-Control":           "no-store",
			"Content-Disposition":     "attachment; filename=" + id + "-1.bin",
			"X-Original-Content-Type": p.mediaType,
		} {
			if got := raw.Header.Get(name); got != want {
				t.Errorf("%s of %s is %q, want %q", name, id, got, want)
			}
		}
		text := r.do("GET", "/api/v1/sources/"+id+"/versions/1/text", nil).is(200)
		if got := text.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("the text of %s is of type %q", id, got)
		}
		for _, a := range []answer{raw, text} {
			if got := a.Header.Get("Content-Security-Policy"); !strings.Contains(got, "sandbox") || !strings.Contains(got, "default-src 'none'") {
				t.Errorf("%s has the policy %q", a.what, got)
			}
		}
	}
}

// routes returns every operation that the API describes.
func (r *rig) routes() (ops []operation) {
	var doc struct {
		OpenAPI string                                `json:"openapi"`
		Paths   map[string]map[string]json.RawMessage `json:"paths"`
	}
	a := r.do("GET", "/openapi.json", nil).is(200)
	if err := json.Unmarshal(a.Body, &doc); err != nil {
		r.t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		r.t.Errorf("the API is described in OpenAPI %s", doc.OpenAPI)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			ops = append(ops, operation{strings.ToUpper(method), path})
		}
	}
	return ops
}

type operation struct{ method, path string }

// A walk over all routes: each is guarded against other sites, and each answer
// carries the headers that keep a browser from running it.
func TestRouterWalk(t *testing.T) {
	r := newRig(t)
	ops := r.routes()
	if len(ops) < 17 {
		t.Fatalf("the API describes %d operations", len(ops))
	}
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/openapi.yaml", "/docs/", "/nowhere"} {
		ops = append(ops, operation{"GET", path})
	}
	for _, op := range ops {
		path := strings.NewReplacer("{id}", "nobody", "{number}", "1").Replace(op.path)
		if strings.HasSuffix(path, "/stream") {
			path += "?after=x" // else it would not end
		}
		foreign := r.do(op.method, path, nil, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
		if op.method != "GET" && foreign.Status != 403 {
			t.Errorf("%s from another site answered %d, want 403", foreign.what, foreign.Status)
		}
		rebound := r.do(op.method, path, nil, "Host", "evil.example")
		if rebound.Status != 421 {
			t.Errorf("%s under another name answered %d, want 421", rebound.what, rebound.Status)
		}
		own := r.do(op.method, path, nil)
		for _, a := range []answer{foreign, rebound, own} {
			for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy"} {
				if a.Header.Get(name) == "" {
					t.Errorf("%s answered %d without %s", a.what, a.Status, name)
				}
			}
			if a.Status == 500 {
				t.Errorf("%s answered %s", a.what, a.Body)
			}
		}
	}
	if got := r.do("GET", "/docs/", nil); got.Status != 200 || strings.Contains(string(got.Body), `src="http`) {
		t.Errorf("the documentation answers %d, or loads scripts from elsewhere", got.Status)
	}
}

func TestHosts(t *testing.T) {
	tests := []struct {
		host  string
		hosts []string
		want  int
	}{
		{"127.0.0.1:8080", nil, 200},
		{"[::1]:8080", nil, 200},
		{"[::1]", nil, 200},
		{"LOCALHOST:80", nil, 200},
		{"freshet.example", nil, 421},
		{"localhost.evil.example", nil, 421},
		{"Freshet.example:8080", []string{"freshet.example"}, 200},
		{"freshet.example", []string{"Freshet.Example"}, 200},
		{"evil.example", []string{"freshet.example"}, 421},
		{"anything", []string{"*"}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			r := newRig(t, func(c *api.Config) { c.Auth.Hosts = tt.hosts })
			if got := r.do("GET", "/healthz", nil, "Host", tt.host).Status; got != tt.want {
				t.Errorf("called as %s it answers %d, want %d", tt.host, got, tt.want)
			}
		})
	}
}

// No GET changes anything.
func TestGetChangesNothing(t *testing.T) {
	r := newRig(t)
	r.add("page", "/page")
	before := r.do("GET", "/api/v1/sources/page", nil).is(200).Body
	for _, op := range r.routes() {
		path := strings.NewReplacer("{id}", "page", "{number}", "1").Replace(op.path)
		if strings.HasSuffix(path, "/stream") {
			path += "?after=x"
		}
		r.do("GET", path, nil)
	}
	if after := r.do("GET", "/api/v1/sources/page", nil).is(200).Body; string(after) != string(before) {
		t.Errorf("after a round of GETs the source is %s, it was %s", after, before)
	}
}
