package kit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// An Origin is a web server whose pages a test sets and changes. It notes what it is asked for.
type Origin struct {
	*httptest.Server
	Mux *http.ServeMux // answers where no page was put

	mu    sync.Mutex
	pages map[string]http.HandlerFunc
	asked []string // paths
}

// NewOrigin starts a server without pages, which runs until the test is over.
func NewOrigin(t testing.TB) *Origin {
	o := StartOrigin()
	t.Cleanup(o.Close)
	return o
}

// StartOrigin starts a server outside of a test. It must be closed.
func StartOrigin() *Origin {
	o := &Origin{Mux: http.NewServeMux(), pages: map[string]http.HandlerFunc{}}
	o.Server = httptest.NewServer(o)
	return o
}

// ServeHTTP implements [http.Handler].
func (o *Origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.asked = append(o.asked, r.URL.Path)
	page := o.pages[r.URL.Path]
	o.mu.Unlock()
	if page == nil {
		page = o.Mux.ServeHTTP
	}
	page(w, r)
}

// Answer has a path answered otherwise from now on.
func (o *Origin) Answer(path string, answer http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pages[path] = answer
}

// Put sets what is at a path from now on.
func (o *Origin) Put(path, mediaType, body string) {
	o.Answer(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, body) // the client may be gone
	})
}

// PutHTML sets the page at a path.
func (o *Origin) PutHTML(path, html string) { o.Put(path, "text/html; charset=utf-8", html) }

// Paths returns the paths that were asked for, in order.
func (o *Origin) Paths() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked)
}

// Asked returns how often a path was asked for.
func (o *Origin) Asked(path string) (n int) {
	for _, p := range o.Paths() {
		if p == path {
			n++
		}
	}
	return n
}
