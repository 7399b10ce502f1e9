package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// maxAnswers bounds how many of a name's addresses are tried.
const maxAnswers = 16

// A dialer opens connections to the addresses that its guard lets through.
type dialer struct {
	guard
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error) // nil: by net
	may     func() error                                                   // nil: always
	net     net.Dialer
	tls     *tls.Config

	dnsTimeout, dialTimeout, tlsTimeout time.Duration
}

func newDialer(c Config) *dialer {
	d := &dialer{
		guard:       c.guard(),
		resolve:     c.Resolver,
		connect:     c.Connect,
		may:         c.May,
		dnsTimeout:  c.DNSTimeout,
		dialTimeout: c.DialTimeout,
		tlsTimeout:  c.TLSTimeout,
		tls: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            c.RootCAs,
			NextProtos:         []string{"h2", "http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(c.IdleConns),
		},
	}
	d.net.Control = d.control
	if d.resolve == nil {
		d.resolve = SystemLookup
	}
	return d
}

// SystemLookup resolves a name as the machine does. A name of several labels
// is rooted, so that no search domain is hung on to it.
func SystemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// dial connects to address, a host and a port.
func (d *dialer) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fail(failure.BlockedURL, "no host and port in %q", address)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fail(failure.BlockedPort, "no such port: %q", portText)
	}
	addrs, err := d.addrs(ctx, host)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(d.dialTimeout)
	var firstErr error
	for i, a := range addrs {
		// A dead address must leave time for the ones after it.
		until := time.Until(deadline) / time.Duration(len(addrs)-i)
		conn, err := d.dialOne(ctx, netip.AddrPortFrom(a, uint16(port)), until)
		if err == nil && d.may != nil {
			return &heldConn{conn, d.may}, nil
		}
		if err == nil {
			return conn, nil
		}
		if firstErr == nil || errors.Is(firstErr, syscall.ENETUNREACH) {
			firstErr = err // a machine without IPv6 is no news
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, dialFailure(firstErr, address, d.dialTimeout)
}

func (d *dialer) dialOne(ctx context.Context, to netip.AddrPort, within time.Duration) (net.Conn, error) {
	within = max(within, time.Millisecond)
	if d.connect != nil {
		if e := d.judge(to); e != nil {
			return nil, e
		}
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return d.connect(ctx, to)
	}
	nd := d.net
	nd.Timeout = within
	return nd.DialContext(ctx, "tcp", to.String())
}

// dialFailure tells why no connection came about.
func dialFailure(err error, address string, limit time.Duration) error {
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return e
	}
	if e := noFiles(err); e != nil {
		return e
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return fail(failure.TimeoutDial, "%s did not accept a connection within %v", address, limit)
	}
	e := fail(failure.Connect, "connecting to %s: %w", address, bare(err))
	if errors.Is(err, syscall.ECONNREFUSED) {
		return hinted(e, "no server is listening there; check the host and the port")
	}
	return e
}

// noFiles returns a failure of our own if err is that no more files can be opened.
// Errors of lookups may say so only in words.
func noFiles(err error) *freshet.FetchError {
	if err == nil || !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !strings.Contains(err.Error(), syscall.EMFILE.Error()) {
		return nil
	}
	return hinted(fail(failure.LocalFiles, "no connection: %w", bare(err)), "raise the limit on open files (ulimit -n, LimitNOFILE), or lower workers")
}

// addrs returns the addresses of host, all of which may be connected to.
func (d *dialer) addrs(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if e := d.judgeAddr(a); e != nil {
			return nil, e
		}
		return []netip.Addr{a}, nil
	}
	if isLocalhost(host) {
		return d.loopbacks(host)
	}
	within, cancel := context.WithTimeout(ctx, d.dnsTimeout)
	defer cancel()
	addrs, err := d.resolve(within, host)
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return nil, refuse(RuleNoAnswer, failure.DNS, "looking up %s: no answer within %v", host, d.dnsTimeout)
	case err != nil:
		return nil, lookupFailure(host, err)
	case len(addrs) == 0:
		return nil, refuse(RuleNoName, failure.DNS, "looking up %s: the name has no address", host)
	}
	// One forbidden answer spoils them all: a name that points both outside
	// and inside is an attempt to get inside.
	rule := RuleAnswer
	if len(addrs) > maxAnswers {
		rule = RuleAnswers
	}
	for _, a := range addrs {
		if e := d.judgeAddr(a); e != nil {
			return nil, hinted(refuse(rule, e.Class, "looking up %s: %w", host, e), "%s", e.Hint)
		}
	}
	return addrs[:min(len(addrs), maxAnswers)], nil
}

// lookupFailure tells why a name has no address.
func lookupFailure(host string, err error) error {
	if e := noFiles(err); e != nil {
		return e
	}
	if de, ok := errors.AsType[*net.DNSError](err); ok && de.IsNotFound {
		return hinted(refuse(RuleNoName, failure.DNS, "looking up %s: no such host", host), "check the spelling of the host name")
	}
	return refuse(RuleNoAnswer, failure.DNS, "looking up %s: %w", host, bare(err))
}

// loopbacks returns the loopback addresses that are open. The name is not
// looked up, so a refused answer is no sign of an attack.
func (d *dialer) loopbacks(host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	e := d.judgeAddr(addrs[0])
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return d.judgeAddr(a) != nil })
	if len(addrs) == 0 {
		return nil, hinted(refuse(RuleAnswer, failure.BlockedEgress, "%s is this machine: %w", host, e), "%s", e.Hint)
	}
	return addrs, nil
}

// dialTLS connects to address and shakes hands.
func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return d.handshake(ctx, conn, address)
}

// handshake makes a fresh connection to address secure.
func (d *dialer) handshake(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	config := d.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address) // dial has split it already
	secure := tls.Client(conn, config)
	within, cancel := context.WithTimeout(ctx, d.tlsTimeout)
	defer cancel()
	if err := secure.HandshakeContext(within); err != nil {
		conn.Close()
		if within.Err() != nil && ctx.Err() == nil {
			return nil, fail(failure.TimeoutTLS, "%s did not finish the TLS handshake within %v", address, d.tlsTimeout)
		}
		return nil, tlsFailure(address, err)
	}
	return secure, nil
}

// tlsFailure tells why there is no trust, and what can be done about it.
func tlsFailure(address string, err error) error {
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return e // of ours
	}
	e := fail(failure.TLS, "TLS handshake with %s: %w", address, bare(err))
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return hinted(e, "the server does not speak TLS on that port; is it an http:// address?")
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return hinted(e, "if the server is yours, add its certificate authority to the system's certificates (SSL_CERT_FILE)")
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return hinted(e, "the certificate is for another name; check the host in the URL")
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return hinted(e, "the certificate has expired, or this machine's clock is wrong")
	}
	if errors.Is(err, io.EOF) {
		return fail(failure.TLS, "%s closed the connection during the TLS handshake", address)
	}
	return e
}
