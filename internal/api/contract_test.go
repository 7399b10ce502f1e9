package api_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/client"
)

var update = flag.Bool("update", false, "write the golden files anew")

// volatile is what differs from run to run.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "origin.example"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
}

// golden compares JSON with a file, but for what differs from run to run.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(got, &v); err != nil {
		t.Fatalf("%s is not JSON: %v: %s", name, err, got)
	}
	pretty, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text := string(pretty) + "\n"
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	file := "testdata/" + name + ".json"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("the answer differs from %s (-want +got):\n%s", file, diff)
	}
}

// What other programs rely on, answer by answer.
func TestContract(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/news", "text/html; charset=utf-8", "<title>News</title><h1>News</h1><p>one</p><p id=x>two</p>")
	r.Origin.Put("/part", "text/html", "<p>noise</p><p id=x>signal</p>")

	added := r.do("POST", "/api/v1/sources", map[string]any{
		"id": "news", "url": r.Origin.URL + "/news", "name": "The News", "tags": []string{"b", "a", "b"},
		"min_gap": "30s", "max_gap": "1d", "weight": 2.5, "keep": map[string]any{"age": "2w", "versions": 50, "bytes": 1000000},
	}).is(201)
	golden(t, "source-added", added.Body)
	if got := added.Header.Get("Location"); got != "/api/v1/sources/news" {
		t.Errorf("the added source is said to be at %q", got)
	}

	// The gap holds for polls by hand, too.
	golden(t, "source-edited", r.do("PATCH", "/api/v1/sources/news", `{"min_gap": null, "tags": ["c"], "keep": {"age": null}}`).is(200).Body)
	golden(t, "poll-first", r.do("POST", "/api/v1/sources/news/poll", nil).is(200).Body)
	golden(t, "changes-none", r.do("GET", "/api/v1/changes?after=0&limit=100", nil).is(200).Body)
	r.Origin.Put("/news", "text/html; charset=utf-8", "<title>News</title><h1>News</h1><p>one</p><p id=x>three</p>")
	golden(t, "poll-changed", r.do("POST", "/api/v1/sources/news/poll?wait=10s", nil).is(200).Body)
	golden(t, "changes", r.do("GET", "/api/v1/changes?after=0&limit=100&wait=10s", nil).is(200).Body)
	golden(t, "source", r.do("GET", "/api/v1/sources/news", nil).is(200).Body)
	golden(t, "versions", r.do("GET", "/api/v1/sources/news/versions", nil).is(200).Body)
	golden(t, "version", r.do("GET", "/api/v1/sources/news/versions/1", nil).is(200).Body)
	golden(t, "diff", r.do("GET", "/api/v1/sources/news/diff", nil).is(200).Body)
	golden(t, "outcomes", r.do("GET", "/api/v1/outcomes?after=0", nil).is(200).Body)
	golden(t, "outcomes-newest", r.do("GET", "/api/v1/outcomes?newest=true&limit=1", nil).is(200).Body)
	golden(t, "source-outcomes", r.do("GET", "/api/v1/sources/news/outcomes?limit=1", nil).is(200).Body)

	text := r.do("GET", "/api/v1/sources/news/versions/2/text", nil).is(200)
	if got, want := string(text.Body), "three\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the text of version 2 is %q, want it to end in %q", got, want)
	}
	if got := text.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("the text is of type %q", got)
	}
	raw := r.do("GET", "/api/v1/sources/news/versions/latest/raw", nil).is(200)
	if got, want := string(raw.Body), "<title>News</title><h1>News</h1><p>one</p><p id=x>three</p>"; got != want {
		t.Errorf("the raw body is %q, want %q", got, want)
	}

	// The minimal form, and the one with a selector.
	var s client.Source
	r.do("POST", "/api/v1/sources", map[string]any{
		"url": r.Origin.URL + "/part", "name": "", "tags": []string{}, "select": map[string]any{"css": "#x"},
	}).is(201).into(&s)
	if s.ID == "" || s.Select.CSS != "#x" {
		t.Errorf("a source with a selector was added as %+v", s)
	}
	if o := r.poll(string(s.ID)); o.Result != "first" {
		t.Errorf("the first poll found %+v", o)
	}
	if got := string(r.do("GET", "/api/v1/sources/"+string(s.ID)+"/versions/1/text", nil).is(200).Body); got != "signal\n" {
		t.Errorf("the selected text is %q, want signal", got)
	}
	r.do("DELETE", "/api/v1/sources/news", nil).is(204)
	r.do("GET", "/api/v1/sources/news", nil).is(404)
	golden(t, "changes-of-removed", r.do("GET", "/api/v1/changes", nil).is(200).Body)
	if got := r.do("GET", "/api/v1/sources/news/versions", nil).is(200); !strings.Contains(string(got.Body), `"number":2`) {
		t.Errorf("the history of a removed source is %s", got.Body)
	}
}

// What the API says of itself, which clients are generated from.
func TestDescription(t *testing.T) {
	golden(t, "openapi", newRig(t).do("GET", "/openapi.json", nil).is(200).Body)
}
