package fetch

import (
	"net/netip"
	"slices"
)

// A block is a range of addresses and what it is set aside for.
type block struct {
	prefix netip.Prefix
	use    string
	rule   Rule
}

// global is all of IPv6 that is handed out to the public; the specials within
// it are listed in reserved.
var global = netip.MustParsePrefix("2000::/3")

// reserved lists the ranges that are not of the public Internet, after the
// special-purpose registries of IANA. The ranges of IPv6 outside global are
// here only to be called by name.
var reserved = []block{
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback", RuleLoopback},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private network", RulePrivate},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private network", RulePrivate},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private network", RulePrivate},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local", RuleLinkLocal},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's shared network", RuleCGNAT},
	{netip.MustParsePrefix("0.0.0.0/32"), "no address", RuleUnspecified},
	{netip.MustParsePrefix("0.0.0.0/8"), "this network", RuleThisNetwork},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments", RuleIETF},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation", RuleDocument},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation", RuleDocument},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation", RuleDocument},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking", RuleBenchmark},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112", RuleIETF},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112", RuleIETF},
	{netip.MustParsePrefix("192.52.193.0/24"), "multicast tunnels", RuleIETF},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays", RuleDeprecated},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast", RuleMulticast},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast", RuleBroadcast},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved", RuleReserved},

	{netip.MustParsePrefix("::1/128"), "loopback", RuleLoopback},
	{netip.MustParsePrefix("::/128"), "no address", RuleUnspecified},
	{netip.MustParsePrefix("::/96"), "an embedded IPv4 address", RuleCompat},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "a translated IPv4 address", RuleTranslated},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64", RuleNAT64},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64", RuleNAT64},
	{netip.MustParsePrefix("100::/64"), "discard", RuleDiscard},
	{netip.MustParsePrefix("100:0:0:1::/64"), "a dummy address", RuleDiscard},
	{netip.MustParsePrefix("5f00::/16"), "segment routing", RuleReserved},
	{netip.MustParsePrefix("fc00::/7"), "a private network", RulePrivate},
	{netip.MustParsePrefix("fe80::/10"), "link-local", RuleLinkLocal},
	{netip.MustParsePrefix("fec0::/10"), "site-local", RuleSiteLocal},
	{netip.MustParsePrefix("ff00::/8"), "multicast", RuleMulticast},
	{netip.MustParsePrefix("2001::/32"), "Teredo", RuleTeredo},
	{netip.MustParsePrefix("2001:2::/48"), "benchmarking", RuleBenchmark},
	{netip.MustParsePrefix("2001:10::/28"), "ORCHID", RuleDeprecated},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments", RuleIETF},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation", RuleDocument},
	{netip.MustParsePrefix("3fff::/20"), "documentation", RuleDocument},
	{netip.MustParsePrefix("2002::/16"), "6to4", Rule6to4},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112", RuleIETF},
}

// metadata lists where clouds hand out credentials to requests from the inside. No setting opens them.
// One of them, Azure's 168.63.129.16, looks like a public address and is in no registry.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.0/24"),       // nearly everybody
	netip.MustParsePrefix("169.254.170.0/24"),       // AWS containers
	netip.MustParsePrefix("169.254.0.23/32"),        // Tencent
	netip.MustParsePrefix("169.254.42.42/32"),       // Scaleway
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"),  // Linode
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
	netip.MustParsePrefix("fe80::a9fe:a9fe/128"),    // OpenStack
}

// reservation returns the block that a lies in, if it is not public. The
// address has been unmapped.
func reservation(a netip.Addr) (b block, reservedAddr bool) {
	for _, b := range reserved {
		if b.prefix.Contains(a) {
			return b, true
		}
	}
	if a.Is6() && !global.Contains(a) {
		return block{netip.PrefixFrom(a, a.BitLen()), "not handed out", RuleReserved}, true
	}
	return block{}, !a.IsValid()
}

// isMetadata reports whether a belongs to a metadata service. The address has
// been unmapped.
func isMetadata(a netip.Addr) bool {
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Forms of IPv6 address that carry an IPv4 address, which some router on the
// way may unwrap and deliver to.
var (
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// wrapped returns the IPv4 addresses that a carries. The address has been
// unmapped.
func wrapped(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	v4 := func(at int) netip.Addr { return netip.AddrFrom4([4]byte(b[at : at+4])) }
	switch {
	case a == netip.IPv6Loopback(), a.IsUnspecified():
		return nil
	case compatible.Contains(a), translated.Contains(a), nat64.Contains(a), nat64Local.Contains(a):
		return []netip.Addr{v4(12)}
	case sixToFour.Contains(a):
		return []netip.Addr{v4(2)}
	case teredo.Contains(a):
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{v4(4), netip.AddrFrom4(client)}
	case isISATAP(a):
		return []netip.Addr{v4(12)}
	}
	return nil
}

// isISATAP reports whether the lower half of a says that a tunnel within a site ends
// at the IPv4 address in its last four bytes. The upper half can be any.
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return (b[8] == 0x00 || b[8] == 0x02) && b[9] == 0x00 && b[10] == 0x5e && b[11] == 0xfe
}
