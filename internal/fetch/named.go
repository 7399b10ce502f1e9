package fetch

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Named returns a client for a server that the operator names in the settings, such as the
// provider that people log in at. That server mostly is on a private network, so it may be
// at any address but that of a cloud's metadata service. It must never be given a URL that
// came from anybody else. The timeout is for a whole request; of an answer only so many
// bytes are read, and a redirect is not followed.
func (c Config) Named(timeout time.Duration, most int64) *http.Client {
	anywhere := guard{allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	dialer := &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if e := anywhere.judgeAddr(to.Addr()); e != nil {
			return e
		}
		return nil
	}}
	return &http.Client{
		Timeout: timeout,
		Transport: bounded{most, &http.Transport{
			DialContext:         dialer.DialContext,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.RootCAs},
			TLSHandshakeTimeout: timeout,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        4,
			IdleConnTimeout:     time.Minute,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded is a way out whose answers come to an end.
type bounded struct {
	most int64
	by   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.by.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, b.most}
	}
	return resp, err
}

// A boundedBody fails when more is read of it than it may have.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *boundedBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("the answer is too large")
	}
	return n, err
}
