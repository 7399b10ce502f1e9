package fetch

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/invalid"
	"freshet/internal/urlenc"
)

// CheckURL returns raw in its normal form: scheme and host in lower case, the
// host in ASCII, without default port and fragment, the rest as written. It
// returns an *invalid.Error for a URL that could not be fetched from
// under this configuration, whatever its host resolves to.
//
// It is strict where parsers are known to disagree about which host is meant,
// since then one of them checks a host and another connects to it.
func (c Config) CheckURL(raw string) (string, error) {
	c = c.withDefaults()
	u, refusal := c.guard().parse(raw)
	if refusal == nil {
		return u.String(), nil
	}
	err := &invalid.Error{Field: "url", Reason: refusal.Error()}
	if refusal.Hint != "" {
		return "", freshet.WithHint(err, refusal.Hint)
	}
	return "", err
}

// Refusal returns the error with which a poll of a URL would fail because CheckURL rejects it, or
// nil.
func (c Config) Refusal(raw string) error {
	if _, refusal := c.withDefaults().guard().parse(raw); refusal != nil {
		return refusal
	}
	return nil
}

// A target is an admitted URL in its parts.
type target struct {
	scheme string
	host   string // as it is dialled: with its port, unless that is the default, and IPv6 in brackets
	rest   string // path and query, as written
}

// String returns the URL.
func (t target) String() string { return t.scheme + "://" + t.host + t.rest }

// url returns t as net/http wants it: what it would not send as written is
// escaped here, lest it escape all of the path anew.
func (t target) url() *url.URL {
	path, query, asked := strings.Cut(t.rest, "?")
	path = urlenc.Escape(path, pathOctets)
	plain, _ := url.PathUnescape(path) // parse has checked it
	return &url.URL{
		Scheme: t.scheme, Host: t.host, Path: plain, RawPath: path,
		RawQuery: urlenc.Escape(query, queryOctets), ForceQuery: asked && query == "",
	}
}

// parse takes a URL apart and returns why it is refused, if it is.
func (g guard) parse(raw string) (target, *freshet.FetchError) {
	if e := checkText(raw, g.urlBytes); e != nil {
		return target{}, e
	}
	scheme, after, ok := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return target{}, badScheme(raw)
	}
	after, _, _ = strings.Cut(after, "#")
	authority, rest := after, "/"
	if i := strings.IndexAny(after, "/?"); i >= 0 {
		authority, rest = after[:i], after[i:]
	}
	if rest[0] == '?' {
		rest = "/" + rest
	}
	t := target{scheme: scheme, rest: rest}
	if path, _, _ := strings.Cut(rest, "?"); !validEscapes(path) {
		return target{}, refuse(RuleMalformed, failure.BlockedURL, "a %% in the path must be followed by two hexadecimal digits")
	}
	host, port, e := parseAuthority(authority)
	if e != nil {
		return target{}, e
	}
	t.host = host
	if strings.Contains(host, ":") {
		t.host = "[" + host + "]"
	}
	if port != defaultPort(scheme) && port != 0 {
		t.host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	if port == 0 {
		port = defaultPort(scheme)
	}
	return t, g.judgeHost(host, port)
}

// checkText refuses what no URL may hold.
func checkText(raw string, limit int) *freshet.FetchError {
	switch {
	case raw == "":
		return refuse(RuleRelative, failure.BlockedURL, "there is no URL")
	case len(raw) > limit:
		return refuse(RuleTooLong, failure.BlockedURL, "longer than %d bytes", limit)
	case !utf8.ValidString(raw):
		return refuse(RuleMalformed, failure.BlockedURL, "not UTF-8")
	case strings.Contains(raw, `\`):
		return refuse(RuleBackslash, failure.BlockedURL, "a URL must not contain a backslash")
	case strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse(RuleControl, failure.BlockedURL, "a URL must not contain a control character, such as a line break")
	case strings.Contains(raw, " "):
		return refuse(RuleMalformed, failure.BlockedURL, "a URL must not contain a space")
	}
	return nil
}

func badScheme(raw string) *freshet.FetchError {
	scheme, rest, ok := strings.Cut(raw, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case ok && (scheme == "http" || scheme == "https"):
		rule := RuleOpaque
		if rest == "" || rest[0] == '/' {
			rule = RuleNoHost
		}
		return refuse(rule, failure.BlockedURL, "%s: must be followed by // and a host", scheme)
	case !ok || scheme == "" || strings.ContainsAny(scheme, "./[?#") || scheme == "localhost":
		return hinted(refuse(RuleRelative, failure.BlockedScheme, "not an absolute URL"), "start it with https:// or http://")
	}
	return hinted(refuse(RuleScheme, failure.BlockedScheme, "%q URLs cannot be watched", scheme), "use an http or https URL, or another kind of source such as github:owner/name; docs/reference/requests.md lists them")
}

// parseAuthority takes host and port apart; a port that is not given is zero.
func parseAuthority(s string) (host string, port uint16, e *freshet.FetchError) {
	switch {
	case s == "":
		return "", 0, refuse(RuleNoHost, failure.BlockedURL, "there is no host")
	case strings.Contains(s, "@"):
		return "", 0, hinted(refuse(RuleUserinfo, failure.BlockedURL, "a URL must not contain a user name or password"), "remove the part before the @")
	case s == "unix:":
		return "", 0, refuse(RuleScheme, failure.BlockedScheme, "http://unix: stands for a socket of this machine, which cannot be watched")
	case hasZone(s):
		return "", 0, refuse(RuleZone, failure.BlockedURL, "an address must be written without a zone")
	case strings.Contains(s, "%"):
		return "", 0, refuse(RuleEscape, failure.BlockedURL, "a host must be written without %% escapes")
	}
	host, portText, hasPort := strings.Cut(s, ":")
	if s[0] == '[' {
		end := strings.LastIndexByte(s, ']')
		if end < 0 || end+1 < len(s) && s[end+1] != ':' {
			return "", 0, refuse(RuleMalformed, failure.BlockedURL, "the brackets around the address do not match")
		}
		host, hasPort = s[:end+1], end+1 < len(s)
		portText = strings.TrimPrefix(s[end+1:], ":")
	}
	if strings.Contains(portText, ":") {
		return "", 0, hinted(refuse(RuleMalformed, failure.BlockedURL, "there is more than one port in %q", s), "write an IPv6 address in brackets, such as [2001:db8::1]")
	}
	if hasPort && portText != "" {
		n, err := strconv.ParseUint(portText, 10, 16)
		if err != nil || n == 0 || portText[0] == '+' {
			return "", 0, refuse(RuleURLPort, failure.BlockedURL, "no such port: %q", portText)
		}
		port = uint16(n)
	}
	host, e = normalHost(host)
	return host, port, e
}

// NormalHost returns the host of a URL as it is looked up: a name in lower-case ASCII
// without a dot at the end, or an address without brackets. It returns a
// *freshet.FetchError for a host that no URL may have.
func NormalHost(s string) (string, error) {
	host, e := normalHost(s)
	if e != nil {
		return "", e
	}
	return host, nil
}

// hasZone reports whether a host is an IPv6 address with a zone.
func hasZone(s string) bool {
	address, _, has := strings.Cut(strings.TrimPrefix(s, "["), "%")
	_, err := netip.ParseAddr(address)
	return has && s[0] == '[' && err == nil
}

// normalHost returns a host as it is to be resolved: an address without
// brackets, or a name in lower-case ASCII without a dot at the end.
func normalHost(s string) (string, *freshet.FetchError) {
	if s == "" {
		return "", refuse(RuleNoHost, failure.BlockedURL, "there is no host")
	}
	if s[0] == '[' {
		a, err := netip.ParseAddr(s[1 : len(s)-1])
		if err != nil || !a.Is6() {
			return "", refuse(RuleMalformed, failure.BlockedURL, "%s is not an IPv6 address", s)
		}
		return a.String(), nil
	}
	name, err := asciiName(s)
	if err != nil {
		return "", refuse(RuleIDNA, failure.BlockedURL, "the host %q is not a valid name", s)
	}
	trimmed := strings.TrimSuffix(name, ".")
	disguised := name != strings.ToLower(s)
	switch {
	case endsInNumber(trimmed):
		a, err := netip.ParseAddr(name)
		if err != nil || disguised {
			rule := RuleNumber
			if disguised {
				rule = RuleIDNAIP
			}
			return "", hinted(refuse(rule, failure.BlockedURL, "the host %q looks like an IPv4 address but is not a valid one", s),
				"write an IPv4 address as four decimal numbers without leading zeros")
		}
		return a.String(), nil
	case disguised && isLocalhost(trimmed):
		return "", refuse(RuleIDNALocal, failure.BlockedURL, "the host %q is another name for localhost", s)
	case !validLabels(trimmed):
		rule := RuleMalformed
		if disguised || strings.Contains(name, "xn--") {
			rule = RuleIDNA
		}
		return "", refuse(rule, failure.BlockedURL, "the host %q is not a valid name", s)
	}
	return trimmed, nil
}

// asciiName returns a name as it is looked up.
func asciiName(s string) (string, error) {
	s = strings.ToLower(s)
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
	if plain && !strings.Contains(s, "xn--") {
		return s, nil
	}
	return idna.Lookup.ToASCII(s)
}

// endsInNumber reports whether a name's last label is a number in some
// notation, so that some resolvers would take the name for an address.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func validLabels(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
		if label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// inward lists the ends of names that only private networks answer for.
var inward = []string{
	".internal", ".local", ".localdomain", ".lan", ".home", ".home.arpa", ".corp", ".intranet", ".private",
}

// metadataNames are names of metadata services; their addresses are refused
// as well, but the name is enough.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
	"metadata.azure.internal", "metadata.tencentyun.com", "rancher-metadata",
}

func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// judgeHost returns why a host is refused before it is resolved, or nil.
func (g guard) judgeHost(host string, port uint16) *freshet.FetchError {
	if a, err := netip.ParseAddr(host); err == nil {
		return g.judge(netip.AddrPortFrom(a, port))
	}
	internal := !strings.Contains(host, ".") || slices.ContainsFunc(inward, func(end string) bool { return strings.HasSuffix(host, end) })
	switch {
	case strings.HasSuffix(host, ".onion"):
		return refuse(RuleNoName, failure.BlockedEgress, "%s can be reached through Tor only, which Freshet does not use", host)
	case slices.Contains(metadataNames, host):
		return hinted(refuse(RuleMetadata, failure.BlockedEgress, "%s is a cloud's metadata service", host),
			"metadata services are never polled, even with --allow-cidr")
	case isLocalhost(host):
		if !g.allowsLoopback() {
			return hinted(refuse(RuleAnswer, failure.BlockedEgress, "%s is this machine", host),
				"to watch it anyway, allow it with --allow-cidr %s", reserved[0].prefix)
		}
		return nil
	case internal && !g.allowsNetwork():
		return hinted(refuse(RuleAnswer, failure.BlockedEgress, "%s is not a public name", host),
			"to watch it anyway, allow its network with --allow-cidr")
	case len(g.allow) > 0 || slices.Contains(g.ports, port):
		return nil // what it resolves to decides
	}
	return g.judgePort(netip.Addr{}, port)
}

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// validEscapes reports whether every % in a path begins an escape.
func validEscapes(path string) bool {
	_, err := url.PathUnescape(path)
	return err == nil
}

// What net/http sends of a path and of a query as written: ASCII, but for what it would
// escape in a path by itself.
var (
	queryOctets = ascii("")
	pathOctets  = ascii("\"<>^`{|}")
)

// ascii returns the octets of ASCII but for some.
func ascii(without string) *urlenc.Set {
	var s urlenc.Set
	for c := range utf8.RuneSelf {
		s[c] = strings.IndexByte(without, byte(c)) < 0
	}
	return &s
}
