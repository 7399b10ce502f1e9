package api_test

import (
	"encoding/json"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
)

// Versions of another program come before the first poll, with their times. Responses are compared
// with it, texts are not; the learner learns from both.
func TestImportVersions(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/a", "text/html", "<p>three</p>")
	version := func(at, key, value string) map[string]any {
		return map[string]any{"seen_at": at, key: value, "media_type": "text/html"}
	}
	add := func(id string) {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/a?" + id, "paused": true}).is(201)
	}
	send := func(id string, versions ...any) client.ImportedVersions {
		t.Helper()
		var done client.ImportedVersions
		if err := json.Unmarshal(r.do("POST", "/api/v1/sources/"+id+"/versions", map[string]any{"versions": versions}).is(200).Body, &done); err != nil {
			t.Fatal(err)
		}
		return done
	}
	one, two := version("2025-01-01T00:00:00Z", "body", "PHA+b25lPC9wPg=="), version("2025-01-02T00:00:00Z", "body", "PHA+dHdvPC9wPg==")
	same, binary := version("2025-01-03T00:00:00Z", "body", "PHA+dHdvPC9wPg=="), version("2025-01-04T00:00:00Z", "body", "PHA+dGhyZWU8L3A+")
	two["header"] = []string{"Content-Type: text/html", "Server: nginx", "Set-Cookie: a=1", "in valid: x"}

	add("responses")
	if got := send("responses", one, two, same, binary); got != (client.ImportedVersions{Added: 3, Known: 1, Learned: 2}) {
		t.Errorf("imported %+v", got)
	}
	if got := send("responses", one, two, same, binary); got != (client.ImportedVersions{Known: 4}) {
		t.Errorf("imported again %+v", got)
	}
	v, err := r.Store.Version(t.Context(), "responses", 2)
	if err != nil || v.Quiet != freshet.QuietImported || v.SeenAt.Format("2006-01-02") != "2025-01-02" {
		t.Errorf("version 2 is %+v, %v", v, err)
	}
	if raw, err := r.Store.Raw(t.Context(), "responses", 2); err != nil || raw.Method != "GET" || raw.Header.Get("Server") != "nginx" || raw.Header.Get("Set-Cookie") == "a=1" || len(raw.Header) != 3 {
		t.Errorf("the response of version 2 is %s %v, %v", raw.Method, raw.Header, err)
	}
	r.do("PATCH", "/api/v1/sources/responses", map[string]any{"paused": false}).is(200)
	if o := r.poll("responses"); o.Result != "unchanged" {
		t.Errorf("the first poll, of a page that is as it was, ends as %s", o.Result)
	}
	r.Origin.Put("/a", "text/html", "<p>four</p>")
	if o := r.poll("responses"); o.Result != "changed" || o.Version != 4 {
		t.Errorf("the poll after a change ends as %s with version %d", o.Result, o.Version)
	}
	if got := send("responses", version("2026-01-01T00:00:00Z", "text", "late")); got != (client.ImportedVersions{Known: 1}) {
		t.Errorf("imported after polls: %+v", got)
	}

	add("texts")
	send("texts", version("2025-01-01T00:00:00Z", "text", "one"), version("2025-01-02T00:00:00Z", "text", "two"))
	r.do("PATCH", "/api/v1/sources/texts", map[string]any{"paused": false}).is(200)
	if o := r.poll("texts"); o.Result != "first" || o.Version != 3 {
		t.Errorf("the first poll after texts ends as %s with version %d", o.Result, o.Version)
	}
	changes, err := r.Store.Changes(t.Context(), freshet.ChangeQuery{Source: "texts"})
	if err != nil || len(changes) > 0 {
		t.Errorf("imported texts made %d changes, %v", len(changes), err)
	}
	for _, bad := range []string{"2999-01-01T00:00:00Z", "0001-01-01T00:00:00Z"} {
		add("bad" + bad[:4])
		r.do("POST", "/api/v1/sources/bad"+bad[:4]+"/versions", map[string]any{"versions": []any{version(bad, "text", "x")}}).is(422)
	}
	r.do("POST", "/api/v1/sources/nothing/versions", map[string]any{"versions": []any{one}}).is(404)
}
