package synth

import (
	"compress/gzip"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/freshet"
)

// Handler serves the pages of all hosts, distinguished by their paths alone.
func (w *Web) Handler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve(rw, r, -1) })
}

// serve answers a request that came to a host.
func (w *Web) serve(rw http.ResponseWriter, r *http.Request, host int) {
	a := w.ask(host, r.URL.Path, freshet.Validators{
		ETag:         r.Header.Get("If-None-Match"),
		LastModified: r.Header.Get("If-Modified-Since"),
	})
	header, body := rw.Header(), w.content(a)
	for name, values := range w.header(a) {
		header[name] = values
	}
	if a.status == http.StatusOK && a.page.Gzip && acceptsGzip(r) {
		header.Set("Content-Encoding", "gzip")
		rw.WriteHeader(a.status)
		w.compress(rw, body)
		return
	}
	if a.status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	rw.WriteHeader(a.status)
	rw.Write(body) // a client that has gone away is its own affair
}

func (w *Web) compress(rw http.ResponseWriter, body []byte) {
	zw := w.gzipped.Get().(*gzip.Writer)
	defer w.gzipped.Put(zw)
	zw.Reset(rw)
	zw.Write(body) // as above
	zw.Close()
}

func acceptsGzip(r *http.Request) bool {
	codings := strings.Split(r.Header.Get("Accept-Encoding"), ",")
	return slices.ContainsFunc(codings, func(c string) bool {
		name, q, _ := strings.Cut(strings.TrimSpace(c), ";")
		return name == "gzip" && strings.TrimSpace(q) != "q=0"
	})
}
