package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"freshet/internal/features"
	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
)

// A rig is a client with a vault, a store and a clock, and servers that note what they
// are asked.
type rig struct {
	t     *testing.T
	dir   string
	store *sqlite.Store
	fetch fetch.Config
	cfg   auth.Config
	env   map[string]string

	mu    sync.Mutex
	asked []string // "METHOD host path"
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, dir: t.TempDir(), env: map[string]string{}}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	r.store = store
	r.fetch = kit.Loopback()
	r.cfg = auth.Config{Vault: secrets.Open(r.dir), Store: store, Env: func(name string) string { return r.env[name] }}
	return r
}

// client returns a new client, which knows nothing but what was stored.
func (r *rig) client() *auth.Client {
	cfg := r.cfg
	cfg.Fetcher = fetch.New(r.fetch)
	return auth.New(cfg)
}

// server answers with what answer returns for each request.
func (r *rig) server(answer func(w http.ResponseWriter, req *http.Request)) *httptest.Server {
	s := httptest.NewServer(r.noting(answer))
	r.t.Cleanup(s.Close)
	return s
}

func (r *rig) noting(answer func(w http.ResponseWriter, req *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, req.Method+" "+req.URL.Path)
		r.mu.Unlock()
		answer(w, req)
	})
}

func (r *rig) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.asked...)
}

// source returns a source of the file with a definition, whose %s is a URL.
func (r *rig) source(definition string, urls ...any) *freshet.Source {
	s, err := freshet.ParseDefinition(fmt.Appendf(nil, definition, urls...))
	if err == nil {
		s, err = s.Check()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	s.Origin = freshet.FromFile
	return &s
}

// get fetches a source.
func get(t *testing.T, c *auth.Client, s *freshet.Source) (freshet.Response, error) {
	t.Helper()
	return c.Fetch(t.Context(), freshet.Request{URL: s.URL, Source: s})
}

// together fetches sources at once, which must be there.
func (r *rig) together(c *auth.Client, sources []*freshet.Source) {
	r.t.Helper()
	var all sync.WaitGroup
	for _, s := range sources {
		all.Go(func() {
			if _, err := get(r.t, c, s); err != nil {
				r.t.Error(err)
			}
		})
	}
	all.Wait()
}

// body fetches a source that must be there.
func body(t *testing.T, c *auth.Client, s *freshet.Source) string {
	t.Helper()
	resp, err := get(t, c, s)
	if err != nil {
		t.Fatalf("the fetch failed: %v", err)
	}
	return string(resp.Body)
}

func classOf(err error) failure.Class {
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return e.Class
	}
	return ""
}

// echo answers with the request as it came, but for what every request has.
func echo(w http.ResponseWriter, req *http.Request) {
	fmt.Fprintf(w, "%s %s\n", req.Method, req.URL.RequestURI())
	for _, name := range []string{"Content-Type", "Accept-Language", "X-A", "X-Key", "Cookie", "Authorization", "If-None-Match"} {
		if v := req.Header.Get(name); v != "" {
			fmt.Fprintf(w, "%s: %s\n", name, v)
		}
	}
	text, _ := io.ReadAll(req.Body)
	if len(text) > 0 {
		fmt.Fprintf(w, "\n%s\n", text)
	}
}

// permits notes the requests that ask for a permit.
type permits struct {
	mu   sync.Mutex
	urls []string
}

func (l *permits) permit(_ context.Context, hop freshet.Hop) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.urls = append(l.urls, hop.URL[strings.LastIndexByte(hop.URL, '/'):])
	return nil
}
