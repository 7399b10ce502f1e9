package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// ways are the transports beside the plain one: through proxies, and with client
// certificates. Connections of one are never used by another.
type ways struct {
	mu   sync.Mutex
	open map[string]*http.Transport // by proxy and certificate
}

// maxWays is how many are kept. They hold idle connections, and a new password for a
// proxy makes another.
const maxWays = 128

// way returns the transport for a proxy and a certificate, each of which can be nil.
func (e *Egress) way(proxy *url.URL, cert *tls.Certificate) (*http.Transport, *freshet.FetchError) {
	if proxy == nil && cert == nil {
		return e.transport, nil
	}
	if f := e.checkProxy(proxy); f != nil {
		return nil, f
	}
	key := ""
	if proxy != nil {
		key = proxy.String()
	}
	if cert != nil && len(cert.Certificate) > 0 {
		key += "\n" + string(cert.Certificate[0])
	}
	e.ways.mu.Lock()
	defer e.ways.mu.Unlock()
	if t := e.ways.open[key]; t != nil {
		return t, nil
	}
	if e.ways.open == nil || len(e.ways.open) >= maxWays {
		for _, t := range e.ways.open {
			t.CloseIdleConnections()
		}
		e.ways.open = map[string]*http.Transport{}
	}
	t := e.newWay(proxy, cert)
	e.ways.open[key] = t
	return t, nil
}

// newWay returns a transport through a proxy, with a certificate, or both.
func (e *Egress) newWay(proxy *url.URL, cert *tls.Certificate) *http.Transport {
	c := e.config
	if proxy != nil {
		// The operator has named the proxy, so all addresses are open to it but those
		// that are never reached: metadata services, and this program.
		c.Allow = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	}
	d := newDialer(c)
	t := newTransport(c, d)
	secure := d.tls.Clone()
	if cert != nil {
		secure.Certificates = []tls.Certificate{*cert}
	}
	if proxy == nil {
		d.tls = secure
		return t
	}
	t.Proxy = http.ProxyURL(proxy)
	t.TLSClientConfig = secure // within the tunnel; the proxy itself is not shown the certificate
	t.TLSHandshakeTimeout = c.TLSTimeout
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		return fail(failure.Proxy, "the proxy %s answered %d %s", proxy.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return t
}

// CheckProxy returns an error if the configuration does not list a proxy.
func (c Config) CheckProxy(proxy *url.URL) error {
	if slices.Contains(c.Proxies, proxyAddress(proxy)) {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("%s is not a proxy that may be used", proxy.Host), "allow it with allow_proxy: ["+proxyAddress(proxy)+"]")
}

func (e *Egress) checkProxy(proxy *url.URL) *freshet.FetchError {
	if proxy == nil {
		return nil
	}
	if err := e.config.CheckProxy(proxy); err != nil {
		return hinted(fail(failure.Proxy, "%w", err), "%s", freshet.HintOf(err))
	}
	return nil
}

// proxyAddress returns the host and the port of a proxy.
func proxyAddress(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	}
	if port == "" {
		port = "1080"
	}
	return net.JoinHostPort(strings.ToLower(proxy.Hostname()), port)
}

// proxyFailure returns a failure to reach a host through a proxy as one of the proxy,
// if it was that.
func proxyFailure(err error) *freshet.FetchError {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "proxyconnect" && !strings.HasPrefix(op.Op, "socks") {
		return nil
	}
	if f, ok := errors.AsType[*freshet.FetchError](op.Err); ok {
		if f.Class.Is(failure.Proxy) {
			return f
		}
		return hinted(fail(failure.Proxy, "the proxy: %w", f.Err), "%s", f.Hint)
	}
	return fail(failure.Proxy, "the proxy: %w", bare(op.Err))
}
