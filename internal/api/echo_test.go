package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"freshet/client"
)

// However much a request says, an error repeats little of it.
func TestErrorsRepeatLittle(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("a", 500_000)
	list := make([]string, 50_000)
	for i := range list {
		list[i] = "not a tag"
	}
	for what, body := range map[string]any{
		"a long URL":    map[string]any{"url": "http://a.example/" + long},
		"a long name":   map[string]any{"url": "http://a.example/", "name": long},
		"a long id":     map[string]any{"url": "http://a.example/", "id": long},
		"a long life":   map[string]any{"url": "http://a.example/", "life": long},
		"many tags":     map[string]any{"url": "http://a.example/", "tags": list},
		"a long field":  map[string]any{"url": "http://a.example/", long: 1},
		"many fields":   map[string]any{"url": "http://a.example/", "select": list},
		"a long gap":    map[string]any{"url": "http://a.example/", "min_gap": long},
		"a long string": long,
	} {
		a := r.do("POST", "/api/v1/sources", body)
		if a.Status/100 != 4 || len(a.Body) > 10_000 {
			t.Errorf("%s is answered with %d and %d bytes", what, a.Status, len(a.Body))
		}
	}
	if a := r.do("GET", "/"+long[:50_000], nil).is(404); len(a.Body) > 2000 {
		t.Errorf("a long path is answered with %d bytes", len(a.Body))
	}
}

// What looks like a secret in a URL is shown to those who ask for it, and to
// nobody else; and a URL as it was shown does not take the place of the real one.
func TestSecretsInURLs(t *testing.T) {
	r := newRig(t).run()
	const secret = "s3cr3t"
	r.Origin.Put("/feed", "text/plain", "one")
	real := r.Origin.URL + "/feed?page=1&api_key=" + secret
	added := r.do("POST", "/api/v1/sources", map[string]any{"id": "feed", "url": real}).is(201)
	r.poll("feed")
	r.Origin.Put("/feed", "text/plain", "two")
	r.poll("feed")
	if strings.Contains(string(added.Body), secret) {
		t.Errorf("adding it is answered with %s", added.Body)
	}
	for _, path := range []string{"/api/v1/sources", "/api/v1/sources/feed", "/api/v1/sources/feed/why", "/api/v1/changes", "/api/v1/outcomes",
		"/api/v1/status", "/metrics", "/api/v1/sources/feed/versions", "/api/v1/sources/feed/versions/1/raw", "/api/v1/numbers?by=source"} {
		a := r.do("GET", path, nil)
		for name, values := range a.Header {
			if strings.Contains(strings.Join(values, " "), secret) {
				t.Errorf("%s has it in the header %s", path, name)
			}
		}
		if strings.Contains(string(a.Body), secret) {
			t.Errorf("%s is answered with %s", path, a.Body)
		}
	}
	conflict := r.do("POST", "/api/v1/sources", map[string]any{"url": real}).is(409)
	if strings.Contains(string(conflict.Body), secret) {
		t.Errorf("adding it again is answered with %s", conflict.Body)
	}
	url := func(path string) string {
		t.Helper()
		var s client.Source
		if err := json.Unmarshal(r.do("GET", path, nil).is(200).Body, &s); err != nil {
			t.Fatal(err)
		}
		return s.URL
	}
	shown := url("/api/v1/sources/feed")
	if want := r.Origin.URL + "/feed?page=1&api_key=***"; shown != want {
		t.Errorf("it is shown as %s, want %s", shown, want)
	}
	r.do("PATCH", "/api/v1/sources/feed", map[string]any{"url": shown, "name": "Feed"}).is(200)
	if got := url("/api/v1/sources/feed?reveal=true"); got != real {
		t.Errorf("after it was put back as it was shown, it is %s, want %s", got, real)
	}
	r.do("PATCH", "/api/v1/sources/feed", map[string]any{"url": strings.Replace(shown, "page=1", "page=2", 1)}).is(422)
	r.do("POST", "/api/v1/sources", map[string]any{"url": shown}).is(422)
	if got := url("/api/v1/sources/feed?reveal=true"); got != real {
		t.Errorf("after edits that were refused it is %s, want %s", got, real)
	}
}
