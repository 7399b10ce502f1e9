package discovery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/failure"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/sites/discovery"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
)

// A web is a site that answers in process, so that it works in a bubble of fake time.
type web struct {
	mu      sync.Mutex
	pages   map[string]string        // bodies by path and query
	endless func(path string) string // what is said under all other paths; nil or "" means nothing
	asked   map[string]int
	headers map[string]http.Header
}

func newWeb(pages map[string]string) *web {
	return &web{pages: pages, asked: map[string]int{}, headers: map[string]http.Header{}}
}

func (w *web) set(path, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[path] = body
}

func (w *web) remove(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pages, path)
}

func (w *web) requests(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[path]
}

func (w *web) all() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, times := range w.asked {
		n += times
	}
	return n
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	body, ok := w.pages[r.URL.RequestURI()]
	if !ok && w.endless != nil {
		body = w.endless(r.URL.RequestURI())
		ok = body != ""
	}
	w.asked[r.URL.RequestURI()]++
	header := w.headers[r.URL.RequestURI()]
	w.mu.Unlock()
	for name, values := range header {
		rw.Header()[name] = values
	}
	switch {
	case !ok:
		rw.WriteHeader(http.StatusNotFound)
		return
	case strings.HasSuffix(r.URL.Path, ".xml"):
		rw.Header().Set("Content-Type", "application/xml")
	case strings.HasSuffix(r.URL.Path, ".txt"):
		rw.Header().Set("Content-Type", "text/plain")
	default:
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	fmt.Fprint(rw, body)
}

// Fetch asks the site.
func (w *web) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	if _, err := url.Parse(r.URL); err != nil {
		return freshet.Response{}, err
	}
	if r.Leave != nil {
		if err := r.Leave(ctx, freshet.Hop{URL: r.URL}); err != nil {
			return freshet.Response{URL: r.URL}, err
		}
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil))
	resp := freshet.Response{
		Status: rec.Code, URL: r.URL, Header: rec.Header(), Body: rec.Body.Bytes(), MediaType: rec.Header().Get("Content-Type"),
		WireBytes: int64(rec.Body.Len()), Requests: 1,
	}
	if rec.Code != http.StatusOK {
		return resp, &freshet.FetchError{Class: failure.HTTP.WithStatus(rec.Code), Err: fmt.Errorf("the server answered %d", rec.Code)}
	}
	return resp, nil
}

// A rig is a daemon and an explorer at work, inside a bubble.
type rig struct {
	*daemon.Daemon
	store *sqlite.Store
	stop  func()
	log   bytes.Buffer // to be read when it has stopped
}

// begin starts to watch sources. The budget is a poll a second.
func begin(t *testing.T, dir string, w *web, sources ...freshet.Source) *rig {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if _, err := store.AddSource(t.Context(), s); err != nil && !errors.Is(err, freshet.ErrConflict) {
			t.Fatal(err)
		}
	}
	r := &rig{store: store}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), &r.log), nil))
	r.Daemon = daemon.New(daemon.Config{
		Store: store, Frontier: frontier.NewStore(store.DB()), Fetcher: w, Policy: &policy.RoundRobin{}, Log: log, Learner: learn.New(learn.Config{Tick: 20 * time.Second, Start: time.Now()}),
		Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Errorf("the daemon stopped: %v", err)
		}
	})
	<-r.Started()
	running.Go(func() {
		err := discovery.New(discovery.Config{Store: store, Frontier: frontier.NewStore(store.DB()), Daemon: r.Daemon, Agent: "freshet", Log: log, Now: time.Now}).Run(ctx)
		if err != nil {
			t.Errorf("the explorer stopped: %v", err)
		}
	})
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// pages returns the pages of a site by their paths.
func (r *rig) pages(t *testing.T, site freshet.SourceID) map[string]frontier.Page {
	t.Helper()
	found := map[string]frontier.Page{}
	for p, err := range frontier.NewStore(r.store.DB()).Pages(t.Context(), site, frontier.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(p.URL, "https://docs.example")] = p
	}
	return found
}

// watched returns all sources.
func (r *rig) watched(t *testing.T) (ids []freshet.SourceID) {
	t.Helper()
	for w, err := range r.store.Sources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.ID)
	}
	return ids
}

// told returns what was told of pages as a whole, such as "new /a".
func (r *rig) told(t *testing.T) (events []string) {
	t.Helper()
	changes, err := r.store.Changes(t.Context(), freshet.ChangeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Details.Page != "" {
			events = append(events, string(c.Details.Page)+" "+strings.TrimPrefix(c.Label.URL, "https://docs.example"))
		}
	}
	return events
}

// docs is a site.
func docs(s crawl.Settings) freshet.Source {
	return freshet.Source{ID: "docs", URL: "https://docs.example/", Site: &s}
}

// linking returns a page that links to others.
func linking(title string, to ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<html><head><title>%s</title></head><body><h1>%s</h1><p>This is the page %s of the documentation.</p>", title, title, title)
	for _, at := range to {
		fmt.Fprintf(&b, "<p><a href=%q>more about %s</a></p>", at, at)
	}
	return b.String() + "</body></html>"
}

// listing returns a sitemap. Each page can have a date behind a space.
func listing(pages ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, p := range pages {
		at, date, dated := strings.Cut(p, " ")
		fmt.Fprintf(&b, "<url><loc>https://docs.example%s</loc>", at)
		if dated {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", date)
		}
		b.WriteString("</url>\n")
	}
	return b.String() + "</urlset>"
}
