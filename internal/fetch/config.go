package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// A Config bounds what a fetch may do and take. The zero Config holds the
// defaults, which are named beside the fields.
type Config struct {
	// Agent is the User-Agent header: it says honestly who is asking.
	Agent string

	// Contact is where the operator of a site can reach ours: a URL or an e-mail
	// address. It is added to Agent.
	Contact string

	DNSTimeout    time.Duration // to resolve a name; 5 s
	DialTimeout   time.Duration // to connect, all addresses together; 10 s
	TLSTimeout    time.Duration // to shake hands; 10 s
	HeaderTimeout time.Duration // from the request to the end of the response header; 15 s
	BodyIdle      time.Duration // between two pieces of the body; 15 s
	Total         time.Duration // for all of it, redirects included; 60 s

	MinRate    int64         // bytes a second that a body must bring; 1 KiB
	RateWindow time.Duration // over which that is measured; 30 s

	HeaderBytes  int64 // of a response, interim responses included; 256 KiB
	URLBytes     int   // of one URL; 8 KiB
	WireBytes    int64 // of a body as it comes; 8 MiB
	DecodedBytes int64 // of a body without its content coding; 32 MiB
	Ratio        int64 // of decoded to wire bytes, beyond 1 MiB; 100
	Redirects    int   // followed at most; 5, negative means none

	// Allow opens ranges of addresses that are refused otherwise, such as
	// 127.0.0.0/8. Metadata services stay closed. The rule of Ports does not
	// hold for addresses in these ranges.
	Allow []netip.Prefix
	Ports []uint16 // that may be connected to; 80, 443, 8080, 8443

	// Proxies may be connected to as such, as host:port. Through them names are
	// resolved by the proxy, so that only the URL is judged and not what it
	// resolves to.
	Proxies []string

	// Self is where this program listens. It is never fetched from, even if
	// Allow opens its range. An unspecified address stands for all of the
	// machine's own.
	Self []netip.AddrPort

	RootCAs   *x509.CertPool // authorities to trust; nil means the system's
	IdleConns int            // connections kept open in all; 1024

	// Now is the wall clock, for dates in headers; nil means time.Now.
	Now func() time.Time

	// Resolver looks up the addresses of a name; nil means the system's way.
	// Every answer passes the guard, whatever its origin.
	Resolver func(ctx context.Context, host string) ([]netip.Addr, error)

	// Lookup returns the DNS records of a name of one of RecordTypes; nil means the
	// system's way.
	Lookup func(ctx context.Context, name, kind string) ([]string, error)

	// May is asked before anything is written to a connection; if it returns an error,
	// nothing is. Nil means that anything may be.
	May func() error

	// Connect opens a connection to an address that has been judged; nil means
	// the machine's network. Tests have one of their own.
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

const (
	kib = 1 << 10
	mib = 1 << 20

	// ratioFloor is the decoded size below which any ratio goes: short pages
	// of one repeated line compress very well.
	ratioFloor = 1 * mib
)

// DefaultAgent is how the program names itself if nothing else is said.
const DefaultAgent = "freshet/0.1 (web change capture)"

// UserAgent returns the User-Agent header: who is asking, and whom to tell if that is a
// nuisance.
func (c Config) UserAgent() string {
	agent := cmp.Or(c.Agent, DefaultAgent)
	if c.Contact == "" {
		return agent
	}
	if comment, ok := strings.CutSuffix(agent, ")"); ok {
		return comment + "; +" + c.Contact + ")"
	}
	return agent + " (+" + c.Contact + ")"
}

// withDefaults returns c with its zero fields filled in.
func (c Config) withDefaults() Config {
	c.Agent, c.Contact = c.UserAgent(), ""
	c.DNSTimeout = cmp.Or(c.DNSTimeout, 5*time.Second)
	c.DialTimeout = cmp.Or(c.DialTimeout, 10*time.Second)
	c.TLSTimeout = cmp.Or(c.TLSTimeout, 10*time.Second)
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, 15*time.Second)
	c.BodyIdle = cmp.Or(c.BodyIdle, 15*time.Second)
	c.Total = cmp.Or(c.Total, 60*time.Second)
	c.MinRate = cmp.Or(c.MinRate, 1*kib)
	c.RateWindow = cmp.Or(c.RateWindow, 30*time.Second)
	c.HeaderBytes = cmp.Or(c.HeaderBytes, 256*kib)
	c.URLBytes = cmp.Or(c.URLBytes, 8*kib)
	c.WireBytes = cmp.Or(c.WireBytes, 8*mib)
	c.DecodedBytes = cmp.Or(c.DecodedBytes, 32*mib)
	c.Ratio = cmp.Or(c.Ratio, 100)
	c.Redirects = cmp.Or(c.Redirects, 5)
	c.IdleConns = cmp.Or(c.IdleConns, 1024)
	if c.Ports == nil {
		c.Ports = []uint16{80, 443, 8080, 8443}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Allow = slices.Clone(c.Allow)
	for i, p := range c.Allow {
		c.Allow[i] = unmapped(p)
	}
	return c
}

// MaxBody returns how many bytes a body can have.
func (c Config) MaxBody() int64 {
	c = c.withDefaults()
	return max(c.WireBytes, c.DecodedBytes)
}

// unmapped returns p with an IPv4 range written as IPv6 turned back, as
// addresses are before they are compared with it.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}
