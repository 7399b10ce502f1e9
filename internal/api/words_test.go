package api_test

import (
	"slices"
	"strings"
	"testing"

	"freshet/internal/api/rest"
	"freshet/internal/app/config"
)

// What is not there is named once, whichever way it was asked for.
func TestNotFoundIsSaidOnce(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page")
	tests := []struct{ method, path, want string }{
		{"GET", "/api/v1/sources/nope", "source nope: not found"},
		{"PATCH", "/api/v1/sources/nope", "source nope: not found"},
		{"DELETE", "/api/v1/sources/nope", "source nope: not found"},
		{"GET", "/api/v1/sources/nope/versions", "source nope: not found"},
		{"GET", "/api/v1/sources/nope/versions/latest", "source nope: not found"},
		{"GET", "/api/v1/sources/nope/diff", "source nope: not found"},
		{"GET", "/api/v1/sources/nope/outcomes", "source nope: not found"},
		{"GET", "/api/v1/sources/nope/why", "source nope: not found"},
		{"POST", "/api/v1/sources/nope/poll", "source nope: not found"},
		{"POST", "/api/v1/sources/nope/poll?wait=0", "source nope: not found"},
		{"GET", "/api/v1/sources/page/versions/latest", "page has no versions yet"},
		{"GET", "/api/v1/sources/page/diff", "page has no versions yet"},
	}
	check := func(method, path, want string) {
		t.Helper()
		var body any
		if method == "PATCH" {
			body = "{}"
		}
		var p rest.Problem
		r.do(method, path, body).is(404).into(&p)
		if p.Detail != want {
			t.Errorf("%s %s: %q, want %q", method, path, p.Detail, want)
		}
	}
	for _, tt := range tests {
		check(tt.method, tt.path, tt.want)
	}
	r.poll("page")
	check("GET", "/api/v1/sources/page/diff", "page has only one version so far: nothing to compare")
	r.capture("page", 2)
	check("GET", "/api/v1/sources/page/diff?to=1", "version 1 of page is the oldest that is stored: nothing to compare it with")
	r.do("GET", "/api/v1/sources/page/diff", nil).is(200)
}

// The hint of a name that is not known tells of a key and a variable that there are.
func TestUnknownNameIsHinted(t *testing.T) {
	r := newRig(t)
	var p rest.Problem
	r.do("GET", "/api/v1/status", nil, "Host", "freshet.example").is(421).into(&p)
	all := config.Options()
	i := slices.IndexFunc(all, func(o config.Option) bool { return strings.Contains(p.Hint, o.Key+" ") })
	if i < 0 || all[i].Key != "api.names" || !strings.Contains(p.Hint, all[i].Env) {
		t.Errorf("the hint names no setting that there is: %q", p.Hint)
	}
}
