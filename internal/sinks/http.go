package sinks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A request is what an HTTP kind sends.
type request struct {
	method string // "" means POST
	url    string
	header http.Header
	body   []byte
}

// A poster sends messages as HTTP requests.
type poster struct {
	*Outlet
	make func(o *Outlet, f filled, m Message) (request, error)
}

// posting returns what opens a kind that sends HTTP requests.
func posting(make func(o *Outlet, f filled, m Message) (request, error)) func(*Outlet) (sender, error) {
	return func(o *Outlet) (sender, error) { return &poster{o, make}, nil }
}

func (p *poster) close() error { return nil }

func (p *poster) send(ctx context.Context, f filled, m Message) (string, error) {
	r, err := p.make(p.Outlet, f, m)
	if err != nil {
		return "", err
	}
	method := r.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return "", fmt.Errorf("post to %s: %w", p.sink.Name, err)
	}
	req.Header = r.header
	for name, value := range f.headers {
		req.Header.Set(name, value)
	}
	resp, err := p.cfg.Do(req)
	if err != nil {
		return "", fmt.Errorf("post to %s: %w", p.sink.Name, err)
	}
	defer resp.Body.Close()
	// What is left unread would keep the connection from being used again.
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode/100 != 2:
		return "", advised(&Refusal{Status: resp.StatusCode, Text: quoted(answer), RetryAfter: retryAfter(resp.Header, answer, p.cfg.Now())})
	case err != nil && context.Cause(ctx) != nil:
		return "", context.Cause(ctx)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s\n%s", resp.StatusCode, http.StatusText(resp.StatusCode), quoted(answer))), nil // accepted, however its body ended
}

// contentHeader returns a header with a content type.
func contentHeader(media string) http.Header { return http.Header{"Content-Type": {media}} }

const (
	jsonMedia  = "application/json; charset=utf-8"
	eventMedia = "application/cloudevents+json; charset=utf-8"
)
