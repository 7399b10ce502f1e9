package fetch

import (
	"net"
	"net/netip"
	"slices"
	"syscall"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A guard decides where the program may connect to.
type guard struct {
	allow []netip.Prefix
	ports []uint16
	self  []netip.AddrPort

	urlBytes int
}

func (c Config) guard() guard {
	return guard{allow: c.Allow, ports: c.Ports, self: c.Self, urlBytes: c.URLBytes}
}

// CheckAddr returns an error, a *freshet.FetchError, if the configuration does
// not let the program connect to an address.
func (c Config) CheckAddr(to netip.AddrPort) error {
	if e := c.withDefaults().guard().judge(to); e != nil {
		return e
	}
	return nil
}

// judge returns why a connection to an address is refused, or nil.
func (g guard) judge(to netip.AddrPort) *freshet.FetchError {
	if e := g.judgeAddr(to.Addr()); e != nil {
		return e
	}
	a := to.Addr().Unmap()
	if slices.ContainsFunc(g.self, func(own netip.AddrPort) bool { return reaches(own, a, to.Port()) }) {
		return hinted(refuse(RuleSelf, failure.BlockedEgress, "%s is this program itself", to),
			"Freshet does not poll its own API; add the page itself")
	}
	return g.judgePort(a, to.Port())
}

// judgeAddr returns why an address is refused whatever the port, or nil.
func (g guard) judgeAddr(addr netip.Addr) *freshet.FetchError {
	if addr.Zone() != "" {
		return refuse(RuleZone, failure.BlockedEgress, "%s has a zone", addr)
	}
	a := addr.Unmap()
	if isMetadata(a) {
		return hinted(refuse(g.metadataRule(addr), failure.BlockedEgress, "%s is a cloud's metadata service", addr),
			"metadata services are never polled, even with --allow-cidr")
	}
	if b, is := reservation(a); is && !g.allowed(a) {
		return hinted(refuse(g.reservedRule(addr, b.rule), failure.BlockedEgress, "%s is not a public address (%s)", addr, b.use),
			"to watch it anyway, allow it with --allow-cidr %s", opening(a, b))
	}
	for _, inner := range wrapped(a) {
		if e := g.judgeAddr(inner); e != nil {
			rule := ruleOf(e)
			switch {
			case !g.allowed(a):
				rule = RuleISATAP // all other wrappings are of reserved ranges
			case rule == RuleMetadata:
				rule = RuleNever
			}
			return hinted(refuse(rule, failure.BlockedEgress, "%s carries an address that is refused: %w", addr, e), "%s", e.Hint)
		}
	}
	return nil
}

// metadataRule returns which rule refuses the address of a metadata service.
func (g guard) metadataRule(addr netip.Addr) Rule {
	switch {
	case g.allowed(addr.Unmap()):
		return RuleNever
	case addr.Is4In6():
		return RuleMapped
	}
	return RuleMetadata
}

// reservedRule returns which rule refuses an address of a reserved range.
func (g guard) reservedRule(addr netip.Addr, rule Rule) Rule {
	switch {
	case len(g.allow) > 0:
		return RuleOpening
	case addr.Is4In6():
		return RuleMapped
	}
	return rule
}

// opening returns the narrowest range that it makes sense to allow.
func opening(a netip.Addr, b block) netip.Prefix {
	if a.IsLoopback() {
		return b.prefix
	}
	return netip.PrefixFrom(a, a.BitLen())
}

// judgePort returns why a port is refused, or nil.
func (g guard) judgePort(a netip.Addr, port uint16) *freshet.FetchError {
	if g.allowed(a) || slices.Contains(g.ports, port) {
		return nil
	}
	return hinted(refuse(RulePort, failure.BlockedPort, "port %d is not an allowed port", port),
		"allowed ports are %v (fetch.ports); --allow-cidr with the address allows all of its ports", g.ports)
}

func (g guard) allowed(a netip.Addr) bool {
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

// allowsLoopback reports whether a name for this machine may be fetched from.
func (g guard) allowsLoopback() bool {
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool {
		return p.Contains(netip.IPv6Loopback()) || p.Overlaps(reserved[0].prefix)
	})
}

// allowsNetwork reports whether anything but this machine has been opened, so
// that a name of a private network may turn out to be allowed.
func (g guard) allowsNetwork() bool {
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool {
		return !p.Addr().IsLoopback() || p.Bits() < 8
	})
}

// control has the last word: it sees the address that a socket is about to be
// connected to, after all names are resolved.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse(RuleMalformed, failure.BlockedEgress, "no address in %q", address)
	}
	if e := g.judge(to); e != nil {
		return e
	}
	return nil
}

// reaches reports whether a connection to a and port arrives at own.
func reaches(own netip.AddrPort, a netip.Addr, port uint16) bool {
	if own.Port() != port {
		return false
	}
	listener := own.Addr().Unmap()
	if !listener.IsUnspecified() {
		return listener == a || a.IsUnspecified() && listener.IsLoopback()
	}
	return a.IsLoopback() || a.IsUnspecified() || ofThisMachine(a)
}

// ofThisMachine reports whether a is an address of a local interface. If they
// cannot be listed it says yes: better one page unseen than a loop.
func ofThisMachine(a netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(addrs, func(local net.Addr) bool {
		p, err := netip.ParsePrefix(local.String())
		return err == nil && p.Addr().Unmap() == a
	})
}
