package auth_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/freshet"
)

// counting counts visits in a cookie.
func counting(w http.ResponseWriter, req *http.Request) {
	n := 0
	if c, err := req.Cookie("visits"); err == nil {
		fmt.Sscan(strings.TrimPrefix(c.Value, "canary-"), &n)
	}
	http.SetCookie(w, &http.Cookie{Name: "visits", Value: fmt.Sprint("canary-", n+1), Path: "/"})
	fmt.Fprint(w, n)
}

func (r *rig) add(s *freshet.Source) *freshet.Source {
	added, err := r.store.AddSource(r.t.Context(), *s)
	if err != nil {
		r.t.Fatal(err)
	}
	return &added
}

func TestJar(t *testing.T) {
	r := newRig(t)
	s := r.server(counting)
	own := r.add(r.source(`{"id": "own", "url": "%s/a", "request": {"jar": "source"}}`, s.URL))
	other := r.add(r.source(`{"id": "other", "url": "%s/b", "request": {"jar": "source"}}`, s.URL))
	team := []*freshet.Source{
		r.add(r.source(`{"id": "one", "url": "%s/c", "request": {"jar": "team"}}`, s.URL)),
		r.add(r.source(`{"id": "two", "url": "%s/d", "request": {"jar": "team"}}`, s.URL)),
	}
	none := r.add(r.source(`{"id": "none", "url": "%s/e", "request": {"language": "de"}}`, s.URL))
	for round := range 3 {
		c := r.client() // as after a restart
		for _, want := range []struct {
			s *freshet.Source
			n int
		}{{own, 2 * round}, {own, 2*round + 1}, {other, round}, {team[0], 2 * round}, {team[1], 2*round + 1}, {none, 0}} {
			if got := body(t, c, want.s); got != fmt.Sprint(want.n) {
				t.Errorf("round %d: visit of %s is number %s, want %d", round, want.s.ID, got, want.n)
			}
		}
	}
	for s, want := range map[*freshet.Source]bool{own: true, team[0]: false, none: false} {
		if resp, err := r.client().Fetch(t.Context(), freshet.Request{URL: s.URL, ID: s.ID, Source: s}); err != nil || resp.Own != want {
			t.Errorf("the answer to %s is its own: %t, want %t (%v)", s.ID, resp.Own, want, err)
		}
	}
	r.store.Close()
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || bytes.Contains(text, []byte("canary-")) {
			t.Errorf("%s holds cookies in plain text (%v)", f, err)
		}
	}
}

// Cookies go only where they came from.
func TestCookiesStayHome(t *testing.T) {
	r := newRig(t)
	there := r.server(func(w http.ResponseWriter, req *http.Request) { fmt.Fprintf(w, "%q", req.Header.Get("Cookie")) })
	home := r.server(func(w http.ResponseWriter, req *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.SetCookie(w, &http.Cookie{Name: "evil", Value: "c", Domain: "example"})
		http.Redirect(w, req, strings.Replace(there.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
	})
	src := r.source(`{"url": "%s", "request": {"jar": "shared"}}`, home.URL)
	c := r.client()
	for range 2 {
		if got := body(t, c, src); got != `""` {
			t.Errorf("the other host saw the cookies %s", got)
		}
	}
}

func TestFloodOfCookies(t *testing.T) {
	r := newRig(t)
	n := 0
	s := r.server(func(w http.ResponseWriter, req *http.Request) {
		for range 150 {
			n++
			http.SetCookie(w, &http.Cookie{Name: fmt.Sprint("c", n), Value: "x", Path: "/"})
		}
		http.SetCookie(w, &http.Cookie{Name: "huge", Value: strings.Repeat("x", 5000), Path: "/"})
		fmt.Fprint(w, len(req.Cookies()), strings.Contains(req.Header.Get("Cookie"), "huge"))
	})
	src := r.source(`{"url": "%s", "request": {"jar": "shared"}}`, s.URL)
	c := r.client()
	got := ""
	for range 5 {
		got = body(t, c, src)
	}
	if got != "200 false" {
		t.Errorf("after a flood there are %s cookies", got)
	}
}
