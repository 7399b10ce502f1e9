package freshet

import (
	"hash/fnv"
	"strings"
)

// A PageKey is what a page is known by where URLs would take too much room: a hash of its
// URL in normal form.
type PageKey uint64

// PageKeyOf returns the key of a URL.
func PageKeyOf(url string) PageKey {
	h := fnv.New64a()
	h.Write([]byte(NormalURL(url)))
	return PageKey(mixed(h.Sum64()))
}

// mixed spreads the bits of a hash, so that any few of them tell keys apart.
func mixed(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// NormalURL returns a URL in the form in which two that lead to the same page are mostly
// the same: scheme and host in lower case, no default port, no fragment, a path, and
// no escapes but those that are needed. A path is a path in its own case.
func NormalURL(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return normalPath(url)
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	scheme, host = strings.ToLower(scheme), strings.ToLower(host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	path = normalPath(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if len(scheme)+3+len(host)+len(path) == len(url) && strings.HasPrefix(url, scheme) && strings.HasSuffix(url, path) && url[len(scheme)+3:len(scheme)+3+len(host)] == host {
		return url
	}
	return scheme + "://" + host + path
}

// normalPath returns path and query without their fragment, and with no escapes but
// those that are needed.
func normalPath(s string) string {
	s, _, _ = strings.Cut(s, "#")
	plain := true
	for i := range len(s) {
		plain = plain && s[i] != '%' && s[i] > ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		escaped := c <= ' ' || c >= 0x7f || c == '%'
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			escaped = !isUnreserved(c)
		}
		if escaped {
			out = append(out, '%', hex[c>>4], hex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// isUnreserved reports whether a character means the same with and without an escape.
func isUnreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
