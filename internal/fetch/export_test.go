package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"freshet/internal/freshet"
)

// NewOver returns a Client whose connections come from connect, so that tests
// can run over pipes and in virtual time.
func NewOver(c Config, connect func() net.Conn) *Client {
	client := New(c)
	d := newDialer(client.egress.config)
	t := client.egress.transport
	t.DialContext = func(context.Context, string, string) (net.Conn, error) { return connect(), nil }
	t.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return d.handshake(ctx, connect(), address)
	}
	return client
}

// EgressOver is NewOver for an Egress.
func EgressOver(c Config, connect func() net.Conn) *Egress { return NewOver(c, connect).egress }

// RetryAfter shows retryAfter to tests.
func RetryAfter(h http.Header, now time.Time) time.Duration { return retryAfter(h, now) }

// Decode decodes a body as read from a response with such a Content-Encoding.
func Decode(c Config, encoding string, body io.Reader) ([]byte, error) {
	c = c.withDefaults()
	_, w := watchOver(context.Background(), &c)
	defer w.end()
	b := bodyReader{limits: &c}
	decoded, _, e := b.read(&http.Response{
		Header:        http.Header{"Content-Encoding": {encoding}},
		Body:          io.NopCloser(body),
		ContentLength: -1,
	}, w)
	if e != nil {
		return nil, (*freshet.FetchError)(e)
	}
	return decoded, nil
}

// NewVia returns a Client whose connections to port 80 go to the address plain
// instead, and those to port 443 to secure, past the same guard.
func NewVia(c Config, plain, secure string) *Client {
	c.RootCAs = nil
	client := New(c)
	d := newDialer(client.egress.config)
	d.tls.InsecureSkipVerify = true // the names are made up
	via := func(address string) string {
		if _, port, _ := net.SplitHostPort(address); port == "443" {
			return secure
		}
		return plain
	}
	guarded := func(ctx context.Context, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		if _, err := d.addrs(ctx, host); err != nil {
			return nil, err
		}
		return d.dial(ctx, "tcp", via(address))
	}
	client.egress.transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return guarded(ctx, address)
	}
	client.egress.transport.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		conn, err := guarded(ctx, address)
		if err != nil {
			return nil, err
		}
		return d.handshake(ctx, conn, address)
	}
	return client
}

// Proof returns what a Digest answers to the challenge of a refusal, "" if it cannot.
func Proof(h http.Header, user, password, uri, own string) string {
	d := Digest{}
	if !d.heard(h) {
		return ""
	}
	return d.challenge.proof(user, password, http.MethodGet, uri, own, 1)
}
