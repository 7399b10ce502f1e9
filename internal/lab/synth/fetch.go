package synth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// Fetch answers a request in process, as a real fetcher would after asking a
// real server. It implements [freshet.Fetcher].
func (w *Web) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return freshet.Response{}, &freshet.FetchError{Class: failure.BlockedURL, Err: fmt.Errorf("reading the address: %w", err)}
	}
	name, ours := strings.CutSuffix(u.Host, domain)
	host := slices.Index(w.hosts, name)
	if !ours || host < 0 {
		return freshet.Response{}, &freshet.FetchError{Class: failure.DNS, Err: fmt.Errorf("no host %s in this web", u.Host)}
	}
	if r.Leave != nil {
		if err := r.Leave(ctx, freshet.Hop{URL: r.URL}); err != nil {
			return freshet.Response{URL: r.URL}, &freshet.FetchError{Class: failure.Canceled, Err: fmt.Errorf("not sent: %w", err)}
		}
	}
	a := w.ask(host, u.Path, r.Validators)
	if err := pause(ctx, w.latency); err != nil {
		return freshet.Response{URL: r.URL, Requests: 1}, &freshet.FetchError{
			Class: failure.TimeoutTotal, Err: fmt.Errorf("waiting for the answer: %w", err),
		}
	}
	return w.response(r, a)
}

// pause lets d pass, or less if ctx is done before.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// response turns an answer into what a fetcher returns for it.
func (w *Web) response(r freshet.Request, a answer) (freshet.Response, error) {
	header := w.header(a)
	resp := freshet.Response{
		Method:     http.MethodGet,
		Status:     a.status,
		URL:        r.URL,
		Requests:   1,
		MediaType:  header.Get("Content-Type"),
		RetryAfter: a.retryAfter,
		Validators: freshet.Validators{ETag: header.Get("Etag"), LastModified: header.Get("Last-Modified")},
		Header:     header,
	}
	if t, err := http.ParseTime(resp.LastModified); err == nil {
		resp.Modified = t
	}
	switch a.status {
	case http.StatusOK:
		resp.Body = w.content(a)
		resp.WireBytes = int64(len(resp.Body))
	case http.StatusNotModified:
		resp.NotModified = true
	default:
		return resp, &freshet.FetchError{Class: classOf(a), Err: fmt.Errorf("the server answered %d %s", a.status, http.StatusText(a.status))}
	}
	return resp, nil
}

// classOf returns the class of a refusal: the one that package fetch gives to
// the same answer.
func classOf(a answer) failure.Class {
	busy := a.status == http.StatusTooManyRequests
	switch {
	case a.retryAfter > 0 && (busy || a.status == http.StatusServiceUnavailable):
		return failure.RetryAfter
	case a.status == http.StatusGone:
		return failure.Gone
	case busy, a.status >= 500:
		return failure.ServerError.WithStatus(a.status)
	default:
		return failure.HTTP.WithStatus(a.status)
	}
}
