package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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
	Sources Sources
	Sites   Sites
	Alerts  Alerts
	Queries Queries
	Sinks   Sinks
	Users   Users
	Tokens  Tokens
	Shares  Shares
	LabRuns LabRuns

	base string
	do   func(*http.Request) (*http.Response, error)
}

// Users are those who may use the API. Removing one ends their sessions, tokens and share links.
type Users struct {
	lister[User]
	adder[NewUser, User]
	editor[string, User]
	remover[string]
}

// Tokens are what programs authenticate with.
type Tokens struct {
	lister[Token]
	adder[NewToken, MadeToken]
	remover[string]
}

// Shares are links that show one source or one query.
type Shares struct {
	lister[Share]
	adder[NewShare, MadeShare]
	remover[string]
}

// LabRuns are replays of what the daemon has recorded. A list leaves out their results. Add
// starts one and returns at once; Remove cancels one that is not over.
type LabRuns struct {
	lister[LabRun]
	getter[string, LabRun]
	adder[LabRequest, LabRun]
	remover[string]
}

// New returns a client of the daemon at a URL such as "http://127.0.0.1:8080".
// Requests are sent with do, such as http.DefaultClient.Do. An answer can take
// minutes, when it waits for a poll or for a change.
func New(base string, do func(*http.Request) (*http.Response, error)) *Client {
	c := &Client{base: strings.TrimSuffix(base, "/"), do: do}
	at := endpoint{c, "/sources"}
	c.Sources = Sources{at, getter[freshet.SourceID, Source]{at}, adder[NewSource, Source]{at}, editor[freshet.SourceID, Source]{at}}
	at = endpoint{c, "/sites"}
	c.Sites = Sites{at, lister[Site]{at}, getter[freshet.SourceID, Site]{at}}
	c.Alerts = Alerts{adder[NewAlert, Alert]{endpoint{c, "/alerts"}}}
	at = endpoint{c, "/queries"}
	c.Queries = Queries{at, lister[Query]{at}, getter[string, Query]{at}, adder[QueryToAdd, Query]{at}, editor[string, Query]{at}, remover[string]{at}}
	at = endpoint{c, "/sinks"}
	c.Sinks = Sinks{at, lister[SinkInfo]{at}, getter[string, SinkInfo]{at}, editor[string, SinkInfo]{at}, remover[string]{at}}
	at = endpoint{c, "/users"}
	c.Users = Users{lister[User]{at}, adder[NewUser, User]{at}, editor[string, User]{at}, remover[string]{at}}
	at = endpoint{c, "/tokens"}
	c.Tokens = Tokens{lister[Token]{at}, adder[NewToken, MadeToken]{at}, remover[string]{at}}
	at = endpoint{c, "/shares"}
	c.Shares = Shares{lister[Share]{at}, adder[NewShare, MadeShare]{at}, remover[string]{at}}
	at = endpoint{c, "/lab/runs"}
	c.LabRuns = LabRuns{lister[LabRun]{at}, getter[string, LabRun]{at}, adder[LabRequest, LabRun]{at}, remover[string]{at}}
	return c
}

// Call makes a request of the API with a JSON body, nil for none, and reads the answer into
// to, nil for none. It is for what no other method does. The path is that in the API
// reference, such as "/lab/runs".
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, body, to any) error {
	_, err := c.callIf(ctx, method, path, query, 0, body, to)
	return err
}

// callIf is Call on the condition that the item still has a revision; zero means any. It
// returns the revision that the answer names.
func (c *Client) callIf(ctx context.Context, method, path string, query url.Values, revision int64, body, to any) (now int64, err error) {
	var payload []byte
	if body != nil {
		if payload, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	header := http.Header{}
	if method != http.MethodGet {
		header.Set("Idempotency-Key", rand.Text())
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

// get returns an answer.
func get[T any](ctx context.Context, c *Client, path string, q query) (answer T, err error) {
	err = c.Call(ctx, http.MethodGet, path, url.Values(q), nil, &answer)
	return answer, err
}

// post sends a body, nil for none, and returns the answer.
func post[T any](ctx context.Context, c *Client, path string, q query, body any) (answer T, err error) {
	err = c.Call(ctx, http.MethodPost, path, url.Values(q), body, &answer)
	return answer, err
}

// bytes returns an answer as it is.
func (c *Client) bytes(ctx context.Context, path string, q query) ([]byte, error) {
	resp, err := c.send(ctx, http.MethodGet, path, url.Values(q), nil, nil)
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

// againAfter is how long to wait before a request whose answer was lost is sent again.
var againAfter = []time.Duration{100 * time.Millisecond, time.Second}

// sendAgain is send. If the connection breaks before there is an answer the request is sent
// again: under its key it is done once.
func (c *Client) sendAgain(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) (*http.Response, error) {
	for n := 0; ; n++ {
		var payload io.Reader
		if body != nil {
			payload = bytes.NewReader(body)
		}
		resp, err := c.send(ctx, method, path, query, header, payload)
		if err == nil || n == len(againAfter) || !lost(err) && !(n > 0 && underWay(err)) {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(againAfter[n]):
		}
	}
}

// lost reports whether a request may have arrived and its answer has not.
func lost(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return false
	}
	var broken net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &broken) && !broken.Timeout()
}

// underWay reports whether the same request is being done.
func underWay(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == http.StatusConflict && p.Existing == ""
}
