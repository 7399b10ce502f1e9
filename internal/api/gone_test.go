package api_test

import (
	"errors"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
)

// A cursor that this log did not give out is answered with 410, which says where to
// go on. An empty page would have the client wait for changes that it never sees.
func TestCursorFromElsewhere(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page")
	r.poll("page")
	r.capture("page", 1)
	r.capture("page", 2)
	tests := []struct {
		name, cursor   string
		resume, detail string
	}{
		{"past the end", "9~rig", "2~rig", "past the end"},
		{"far past the end", "9223372036854775807~rig", "2~rig", "past the end"},
		{"another data directory", "1~other", "0", "another data directory"},
		{"a store from before there were epochs", "1", "0", "another data directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, asked := range []answer{
				r.do("GET", "/api/v1/changes?after="+tt.cursor, nil),
				r.do("GET", "/api/v1/changes?after="+tt.cursor+"&wait=60s&source=page", nil),
				r.do("GET", "/api/v1/changes/stream?after="+tt.cursor, nil),
				r.do("GET", "/api/v1/changes/stream", nil, "Last-Event-ID", tt.cursor),
			} {
				var p client.Problem
				asked.is(410).into(&p)
				if got := asked.Header.Get("Content-Type"); got != "application/problem+json" {
					t.Errorf("the problem is of type %q", got)
				}
				if p.Gone == nil || p.Gone.Cursor.String() != tt.cursor || p.Gone.Resume.String() != tt.resume || p.Gone.End.String() != "2~rig" {
					t.Errorf("the problem says %+v, want to go on after %s", p.Gone, tt.resume)
				}
				if !strings.Contains(p.Detail, tt.detail) || !strings.Contains(p.Hint, "after "+tt.resume) {
					t.Errorf("the problem says %q and %q, want %q and from where to go on", p.Detail, p.Hint, tt.detail)
				}
			}
			for _, path := range []string{"/api/v1/outcomes?after=", "/api/v1/outcomes?newest=true&before=", "/api/v1/sources/page/outcomes?before="} {
				r.do("GET", path+tt.cursor, nil).is(410)
			}
		})
	}
	// What the log did give out is answered, by whatever way it came.
	for _, cursor := range []string{"0", "0~other", "1~rig", "2~rig"} {
		r.do("GET", "/api/v1/changes?after="+cursor, nil).is(200)
	}
	c := client.New(r.API.URL, r.API.Client().Do)
	_, err := c.Changes(t.Context(), client.ChangeQuery{After: freshet.Place{Cursor: 9, Epoch: "rig"}})
	checkGone(t, "a page", err)
	for _, err := range c.Stream(t.Context(), freshet.Place{Cursor: 9, Epoch: "rig"}, client.ChangeFilter{}) {
		checkGone(t, "a stream", err)
	}
}

// checkGone wants an error that says to go on after 2.
func checkGone(t *testing.T, what string, err error) {
	t.Helper()
	gone, ok := errors.AsType[*freshet.GoneError](err)
	if !ok || !errors.Is(err, freshet.ErrGone) || gone.Resume.String() != "2~rig" || freshet.HintOf(err) == "" {
		t.Errorf("%s past the end gives %v with the hint %q", what, err, freshet.HintOf(err))
	}
}

// A node that may have been cut off from the others does not say of a cursor that it is gone.
func TestNotSureWhatIsGone(t *testing.T) {
	sure := false
	r := newRig(t, func(c *api.Config) { c.Cluster.HoldsLease = func() bool { return sure } })
	for _, path := range []string{"/api/v1/changes?after=257~elsewhere", "/api/v1/changes/stream?after=257~elsewhere"} {
		sure = false
		if a := r.do("GET", path, nil).is(503); a.Header.Get("Retry-After") == "" {
			t.Errorf("%s does not say when to try again", path)
		}
		sure = true
		r.do("GET", path, nil).is(410)
	}
}
