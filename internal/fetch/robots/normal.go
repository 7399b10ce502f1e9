package robots

import (
	"strings"

	"freshet/internal/urlenc"
)

// pathOctets are the octets that stand in a path without an escape: all but those that
// RFC 3986 has no place for. A percent sign that begins no escape stays.
var pathOctets = urlenc.NewSet(urlenc.Unreserved, ":/?#[]@!$&'()*+,;=%")

// normal returns a path or a pattern in the form in which they are compared: what can be
// written with an escape and without is written in one way (RFC 9309, 2.2.2).
func normal(path string) string { return urlenc.Normalize(path, pathOctets) }

// literal returns a normal path with the signs that mean something in a pattern escaped,
// so that an escaped one in a pattern finds them (RFC 9309, 2.2.3).
func literal(path string) string {
	if !strings.ContainsAny(path, "*$") {
		return path
	}
	return signs.Replace(path)
}

var signs = strings.NewReplacer("*", "%2A", "$", "%24")

// pathOf returns the path and query of a path or a whole URL. It begins with a slash and has no fragment.
func pathOf(text string) string {
	text, _, _ = strings.Cut(text, "#")
	if scheme, rest, ok := strings.Cut(text, "://"); ok && isScheme(scheme) {
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			text = rest[i:]
		} else {
			text = ""
		}
	}
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	return text
}

func isScheme(text string) bool {
	return strings.EqualFold(text, "http") || strings.EqualFold(text, "https")
}
