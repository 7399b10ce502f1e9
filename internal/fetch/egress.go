package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// An Egress sends single requests out of the program: it refuses addresses
// that the configuration does not open, follows no redirect, and bounds the
// header and the time of a response.
type Egress struct {
	config    Config
	guard     guard
	transport *http.Transport
	ways      ways
}

// idleTimeout is how long a connection is kept for the next poll.
const idleTimeout = 90 * time.Second

// NewEgress returns an Egress.
func NewEgress(c Config) *Egress {
	c = c.withDefaults()
	d := newDialer(c)
	return &Egress{config: c, guard: d.guard, transport: newTransport(c, d)}
}

// newTransport returns a transport whose connections a dialer opens.
func newTransport(c Config, d *dialer) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // the guard would see only the proxy's address: see newWay
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // bodies are decoded under our limits
		ResponseHeaderTimeout:  c.HeaderTimeout,
		MaxResponseHeaderBytes: c.HeaderBytes,
		MaxIdleConns:           c.IdleConns,
		MaxIdleConnsPerHost:    max(c.IdleConns/8, 1),
		IdleConnTimeout:        idleTimeout,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerConnection: 4 * mib,
			MaxReceiveBufferPerStream:     1 * mib,
			// A connection that died in silence would fail every poll of its
			// host from then on.
			SendPingTimeout: 30 * time.Second,
		},
	}
}

// CloseIdle closes the connections that are not in use.
func (e *Egress) CloseIdle() {
	e.transport.CloseIdleConnections()
	e.ways.mu.Lock()
	defer e.ways.mu.Unlock()
	for _, t := range e.ways.open {
		t.CloseIdleConnections()
	}
}

// Do sends one request and returns the response as it is, whatever its status.
// The errors are *freshet.FetchError. The body ends when the total time is
// over; the caller bounds how much of it to read, and closes it.
func (e *Egress) Do(req *http.Request) (*http.Response, error) {
	t, refusal := e.guard.parse(req.URL.String())
	if refusal != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, refusal
	}
	u := t.url()
	ctx, w := watchOver(req.Context(), &e.config)
	req = req.Clone(ctx)
	req.URL, req.Host = u, ""
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", e.config.Agent)
	}
	hr, failure := e.roundTrip(ctx, w, e.transport, req)
	if failure != nil {
		w.end()
		return nil, failure
	}
	w.reading(hr.Body)
	hr.Body = &watchedBody{ReadCloser: hr.Body, watch: w}
	return hr, nil
}

// A watchedBody counts what is read for its watch, and ends it when closed.
type watchedBody struct {
	io.ReadCloser
	watch *watch
}

// Read reads from the body.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.watch.wire.Add(int64(n))
	return n, err
}

// Close closes the body and ends the watch.
func (b *watchedBody) Close() error {
	defer b.watch.end()
	return b.ReadCloser.Close()
}

// roundTrip sends a request that has been checked, under a watch.
func (e *Egress) roundTrip(ctx context.Context, w *watch, by *http.Transport, req *http.Request) (*http.Response, *freshet.FetchError) {
	w.grant()
	hr, err := by.RoundTrip(req)
	if err != nil {
		return nil, e.headerFailure(ctx, err)
	}
	w.answered.Store(true)
	if hr.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the bare connection, which no deadline ends.
		hr.Body.Close()
		return nil, fail(failure.Protocol, "the server switched to a protocol that was not asked for")
	}
	return hr, nil
}

// headerFailure tells why no response header came.
func (e *Egress) headerFailure(ctx context.Context, err error) *freshet.FetchError {
	if f := givenUp(ctx); f != nil {
		return f
	}
	if f := proxyFailure(err); f != nil {
		return f
	}
	if f, ok := errors.AsType[*freshet.FetchError](err); ok {
		return f
	}
	text := err.Error()
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return fail(failure.TimeoutHeader, "no response header within %v", e.config.HeaderTimeout)
	}
	switch {
	case strings.Contains(text, "headers exceeded"), strings.Contains(text, "header list larger"):
		return fail(failure.LargeHeader, "the response header is larger than %d bytes", e.config.HeaderBytes)
	case brokenOff(err):
		return fail(failure.Protocol, "the server closed the connection without an answer: %w", bare(err))
	}
	return fail(failure.Protocol, "reading the response header: %w", bare(err))
}

// givenUp returns why a fetch was ended from our side, if it was.
func givenUp(ctx context.Context) *freshet.FetchError {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if f, ok := errors.AsType[*freshet.FetchError](cause); ok {
		return f
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return fail(failure.TimeoutTotal, "the caller's time is over: %w", cause)
	}
	return fail(failure.Canceled, "given up: %w", cause)
}

// brokenOff reports whether err is the other side hanging up.
func brokenOff(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.HasPrefix(err.Error(), "stream error:") || strings.Contains(err.Error(), "http2: client connection lost") ||
		strings.Contains(err.Error(), "server sent GOAWAY")
}

// Trusted returns a client for the program's own daemon, at an address that
// the operator gave on the command line. It has no guard, because that daemon
// mostly listens on loopback and nobody but the operator chooses where it is:
// it must never be given a URL that came from anywhere else. The timeout
// bounds the wait for a response header; a stream may go on for ever.
func Trusted(timeout time.Duration) *http.Client {
	return trustedClient(timeout, (&net.Dialer{Timeout: 10 * time.Second}).DialContext)
}

// TrustedSparing is Trusted with a small buffer: what is not read stays with the server. It
// is for clients that are slow on purpose.
func TrustedSparing(timeout time.Duration) *http.Client {
	return trustedClient(timeout, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(4 * kib)
		}
		return c, err
	})
}

// TrustedBy is like Trusted with a TLS configuration for each host; nil means that of the system.
func TrustedBy(timeout time.Duration, config func(host string) (*tls.Config, error)) *http.Client {
	c := Trusted(timeout)
	if config == nil {
		return c
	}
	t := c.Transport.(*http.Transport)
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		by, err := config(host)
		if err != nil {
			return nil, err
		}
		conn, err := t.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, t.TLSHandshakeTimeout)
		defer cancel()
		secure := tls.Client(conn, by)
		if err := secure.HandshakeContext(ctx); err != nil { // nothing was sent
			conn.Close()
			return nil, &net.OpError{Op: "dial", Net: network, Addr: conn.RemoteAddr(), Err: err}
		}
		return secure, nil
	}
	return c
}

func trustedClient(timeout time.Duration, dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			ResponseHeaderTimeout: timeout,
			DialContext:           dial,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxIdleConnsPerHost:   64, // a brain has so many deliveries under way at a node
			IdleConnTimeout:       90 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
