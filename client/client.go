package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// A Client calls the API of one daemon. It can be used by several goroutines at
// the same time.
type Client struct {
	base string
	do   func(*http.Request) (*http.Response, error)
}

// New returns a client of the daemon at a URL such as "http://127.0.0.1:8080".
// Requests are sent with do, such as http.DefaultClient.Do. An answer can take
// minutes, when it waits for a poll or for a change.
func New(base string, do func(*http.Request) (*http.Response, error)) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), do: do}
}

// get reads an answer into to.
func (c *Client) get(ctx context.Context, path string, query url.Values, to any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, to)
}

// call makes a request with a JSON body, nil for none, and reads the answer
// into to, nil for none.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, to any) error {
	_, err := c.callIf(ctx, method, path, query, 0, body, to)
	return err
}

// callIf is call, on the condition that a source has a revision still; zero is
// none. It returns the revision that the answer names.
func (c *Client) callIf(ctx context.Context, method, path string, query url.Values, revision int64, body, to any) (now int64, err error) {
	var payload []byte
	if body != nil {
		if payload, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	header := http.Header{}
	if method != http.MethodGet {
		header.Set("Idempotency-Key", keyOf(ctx))
	}
	if revision != 0 {
		header.Set("If-Match", strconv.Quote(strconv.FormatInt(revision, 10)))
	}
	resp, err := c.sendAgain(ctx, method, path, query, header, payload)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if tag, err := strconv.ParseInt(strings.Trim(resp.Header.Get("ETag"), `"`), 10, 64); err == nil {
		now = tag
	}
	if to == nil {
		return now, nil
	}
	if err := json.NewDecoder(resp.Body).Decode(to); err != nil {
		return 0, freshet.WithHint(fmt.Errorf("read the answer from %s: %w", c.base, err), "check that this is the address of a Freshet daemon, and that both have the same version")
	}
	return now, nil
}

// bytes returns an answer as it is.
func (c *Client) bytes(ctx context.Context, path string, query url.Values) ([]byte, error) {
	resp, err := c.send(ctx, http.MethodGet, path, query, nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// send makes a request and returns an answer that is no refusal.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, header http.Header, body io.Reader) (*http.Response, error) {
	where := c.base + "/api/v1" + path
	if len(query) > 0 {
		where += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, where, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.do(req)
	if err != nil {
		if u, ok := err.(*url.Error); ok {
			err = u.Err // the address is said already
		}
		return nil, fmt.Errorf("cannot reach the daemon at %s: %w", c.base, err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

// sourcePath returns the path of a source in the API, and of what is below it.
func sourcePath(id freshet.SourceID, below ...string) string {
	path := "/sources/" + url.PathEscape(string(id))
	if strings.Trim(string(id), ".") == "" { // an id that older versions took, and that a path would fold
		path = "/sources/" + strings.Repeat("%2E", len(id))
	}
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// A query collects the parameters that are set. What is zero is left to the
// API's default.
type query url.Values

func (q query) text(name, value string) {
	if value != "" {
		q[name] = append(q[name], value)
	}
}

// between asks for what was seen in a span of time.
func (q query) between(in freshet.Between) {
	for name, t := range map[string]time.Time{"since": in.Since, "until": in.Until} {
		if !t.IsZero() {
			q.text(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
}

func (q query) number(name string, value int64) {
	if value != 0 {
		q.text(name, strconv.FormatInt(value, 10))
	}
}

func (q query) place(name string, p freshet.Place) {
	if p.Cursor != 0 {
		q.text(name, p.String())
	}
}

func (q query) flag(name string, value bool) {
	if value {
		q.text(name, "true")
	}
}
