package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

type keyKey struct{}

// WithKey has the calls that are given the context sent under a key: one that changes
// something is done once, however often it is sent under its key within a day, and is
// answered as the first time. Without this each call has a key of its own, which serves when
// the connection breaks. A program that wants to repeat a call after it was started again
// keeps the key, and uses each for one call.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

// keyOf returns the key of a call.
func keyOf(ctx context.Context) string {
	if key, _ := ctx.Value(keyKey{}).(string); key != "" {
		return key
	}
	return rand.Text()
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
