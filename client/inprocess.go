package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// InProcess returns a function for [New] that has a handler of this process
// answer, without a network between them. An answer is handed over when it is
// complete, so [Client.Stream] does not work over it.
func InProcess(h http.Handler) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		if req.Body == nil {
			req.Body = http.NoBody
		}
		req.RemoteAddr, req.RequestURI = "127.0.0.1:0", req.URL.RequestURI()
		w := &written{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(w, req)
		return &http.Response{
			StatusCode: w.status, Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
			Header: w.header, Body: io.NopCloser(&w.body), Request: req,
		}, nil
	}
}

// written is an answer in memory.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *written) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *written) WriteHeader(status int) { w.status = status }

// Write implements [http.ResponseWriter].
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }
