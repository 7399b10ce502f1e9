package crawl

import (
	"hash/fnv"
	"strings"

	"freshet/internal/urlenc"
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

// graphic are the octets that a path and a query hold without an escape.
var graphic = func() *urlenc.Set {
	var s urlenc.Set
	for c := '!'; c <= '~'; c++ {
		s[c] = c != '%'
	}
	return &s
}()

// normalPath returns path and query without their fragment, and with no escapes but
// those that are needed.
func normalPath(s string) string {
	s, _, _ = strings.Cut(s, "#")
	return urlenc.Normalize(s, graphic)
}
