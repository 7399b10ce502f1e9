package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"freshet/client"
)

// Whoever names the revision that he edits does not undo what others did.
func TestEditsOfARevision(t *testing.T) {
	r := newRig(t)
	path := "/api/v1/sources/a"
	tag := func(a answer, want string) {
		t.Helper()
		if got := a.Header.Get("ETag"); got != want {
			t.Errorf("%s has the ETag %s, want %s", a.what, got, want)
		}
	}
	tag(r.do("POST", "/api/v1/sources", map[string]any{"id": "a", "url": r.Origin.URL + "/a", "paused": true}).is(201), `"1"`)
	tag(r.do("GET", path, nil).is(200), `"1"`)
	tag(r.do("PATCH", path, `{"name": "one"}`, "If-Match", `"1"`).is(200), `"2"`)
	a := r.do("PATCH", path, `{"name": "two"}`, "If-Match", `"1"`).is(412)
	var p client.Problem
	a.into(&p)
	if want := "source a was changed by someone else: you edited revision 1, but the current one is 2"; p.Detail != want || p.Hint == "" || p.Title != http.StatusText(http.StatusPreconditionFailed) {
		t.Errorf("the problem is %+v, want %q", p, want)
	}
	tag(r.do("GET", path, nil).is(200), `"2"`)
	tag(r.do("PATCH", path, `{"weight": 2}`, "If-Match", `"1", "2"`).is(200), `"3"`)
	tag(r.do("PATCH", path, `{"weight": 3}`, "If-Match", `*`).is(200), `"4"`)
	tag(r.do("PATCH", path, `{"weight": 4}`).is(200), `"5"`)
	for _, wrong := range []string{`"4"`, `W/"5"`, `5`, `"x"`, `""`} {
		r.do("PATCH", path, `{"weight": 5}`, "If-Match", wrong).is(412)
		r.do("DELETE", path, nil, "If-Match", wrong).is(412)
	}
	var s client.Source
	r.do("GET", path, nil).is(200).into(&s)
	if s.Name != "one" || s.Weight != 4 {
		t.Errorf("the source is %+v, want the edits that were taken", s)
	}
	r.do("PATCH", "/api/v1/sources/none", `{"weight": 5}`, "If-Match", `*`).is(404)
	r.do("DELETE", "/api/v1/sources/none", nil, "If-Match", `*`).is(404)
	r.do("DELETE", path, nil, "If-Match", `"5"`).is(204)
	r.do("GET", path, nil).is(404)
	tag(r.do("POST", "/api/v1/sources", map[string]any{"url": r.Origin.URL + "/a"}).is(201), `"6"`)
	r.do("DELETE", path, nil, "If-Match", `*`).is(204)
}

// Edits side by side that name no revision are all made.
func TestEditsSideBySide(t *testing.T) {
	r := newRig(t)
	r.do("POST", "/api/v1/sources", map[string]any{"id": "a", "url": r.Origin.URL + "/a", "paused": true}).is(201)
	edits := map[string]any{"name": "new", "weight": 7.0, "level": "90% within 10m", "min_gap": "1h", "life": "append"}
	var all sync.WaitGroup
	for field, value := range edits {
		all.Go(func() {
			text, _ := json.Marshal(map[string]any{field: value})
			if a, err := ask(t, t.Context(), "PATCH", r.API.URL+"/api/v1/sources/a", string(text)); err != nil || a.Status != 200 {
				t.Errorf("editing %s answers %d, %v", field, a.Status, err)
			}
		})
	}
	all.Wait()
	a := r.do("GET", "/api/v1/sources/a", nil).is(200)
	for field, value := range edits {
		text, _ := json.Marshal(value)
		if want := fmt.Sprintf("%q:%s", field, text); !strings.Contains(string(a.Body), want) {
			t.Errorf("the edit %s is lost: %s", want, a.Body)
		}
	}
	if got := a.Header.Get("ETag"); got != `"6"` {
		t.Errorf("after five edits the ETag is %s", got)
	}
}

// What was edited meanwhile is not removed on a condition.
func TestRemoveOfAnOldRevision(t *testing.T) {
	r := newRig(t)
	added := r.do("POST", "/api/v1/queries", map[string]any{"id": "q", "name": "q", "when": "true"}).is(201)
	r.do("PATCH", "/api/v1/queries/q", map[string]any{"name": "other"}).is(200)
	r.do("DELETE", "/api/v1/queries/q", nil, "If-Match", added.Header.Get("ETag")).is(412)
	tag := r.do("GET", "/api/v1/queries/q", nil).is(200).Header.Get("ETag")
	r.do("DELETE", "/api/v1/queries/q", nil, "If-Match", tag).is(204)
}
