package docs_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"freshet/docs"
)

// Every link of the site leads to a file, and to an id on it.
func TestSiteLinks(t *testing.T) {
	site, err := docs.Site()
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`(?:href|src)="([^":]*)"`)
	links := 0
	for name, text := range site {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			links++
			file, id, _ := strings.Cut(string(m[1]), "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if there, ok := site[to]; !ok {
				t.Errorf("%s: %s leads nowhere", name, m[1])
			} else if id != "" && !bytes.Contains(there, []byte(`id="`+id+`"`)) {
				t.Errorf("%s: %s has no such id", name, m[1])
			}
		}
	}
	if links < 1000 {
		t.Errorf("only %d links were found", links)
	}
}

// The first page leads to every other.
func TestFirstPage(t *testing.T) {
	site, err := docs.Site()
	if err != nil {
		t.Fatal(err)
	}
	_, article, _ := bytes.Cut(site["index.html"], []byte("<article>"))
	for name := range site {
		if path.Ext(name) == ".html" && name != "index.html" && !bytes.Contains(article, []byte(`href="`+name+`"`)) {
			t.Errorf("the first page does not lead to %s", name)
		}
	}
}

// The site answers with its pages, and with 404 for others.
func TestServe(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs/{file...}", docs.Serve)
	for _, tt := range []struct {
		path, kind, has string
		status          int
	}{
		{"/docs/", "text/html", "<h1", 200},
		{"/docs/how-to/alerts.html", "text/html", "telegram", 200},
		{"/docs/search.js", "text/javascript", "urlwatch", 200},
		{"/docs/site.css", "text/css", "light-dark", 200},
		{"/docs/explanation/decisions.html", "text/html", "<h1", 200},
		{"/docs/../docs.go", "", "", 307},
		{"/docs/docs.go", "text/plain", "404", 404},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
		if w.Code != tt.status || !strings.HasPrefix(w.Header().Get("Content-Type"), tt.kind) || !strings.Contains(w.Body.String(), tt.has) {
			t.Errorf("%s: %d %s, want %d %s with %q", tt.path, w.Code, w.Header().Get("Content-Type"), tt.status, tt.kind, tt.has)
		}
	}
}
