// Package urlenc normalizes the percent-encoding of URLs (RFC 3986, 6.2.2).
//
// What a URL may hold without an escape depends on who reads it, so callers pass a [Set].
package urlenc

import "strings"

// Unreserved are the octets that mean the same with and without an escape.
const Unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"

// A Set is a set of octets.
type Set [256]bool

// NewSet returns the set of the octets in all strings.
func NewSet(octets ...string) *Set {
	var s Set
	for _, text := range octets {
		for i := range len(text) {
			s[text[i]] = true
		}
	}
	return &s
}

var unreserved = NewSet(Unreserved)

// IsUnreserved reports whether an octet means the same with and without an escape.
func IsUnreserved(c byte) bool { return unreserved[c] }

// Normalize writes escapes in upper case, decodes those of unreserved octets, and escapes
// the octets that are not allowed. A percent sign that begins no escape is an octet
// like any other. Unreserved octets have to be allowed.
func Normalize(s string, allowed *Set) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] != '%' && allowed[s[i]]
	}
	if clean {
		return s
	}
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c, keep := s[i], allowed[s[i]]
		if octet, ok := Decode(s[i:]); ok {
			c, keep = octet, unreserved[octet]
			i += 2
		}
		if keep {
			out = append(out, c)
		} else {
			out = appendEscape(out, c)
		}
	}
	return string(out)
}

// Escape escapes the octets of s that are not allowed, and leaves escapes as they are.
func Escape(s string, allowed *Set) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = allowed[s[i]]
	}
	if clean {
		return s
	}
	out := make([]byte, 0, len(s)+16)
	for i := range len(s) {
		if allowed[s[i]] {
			out = append(out, s[i])
		} else {
			out = appendEscape(out, s[i])
		}
	}
	return string(out)
}

// Decode returns the octet of the escape that s begins with.
func Decode(s string) (octet byte, ok bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigits, upper(s[1])), strings.IndexByte(hexDigits, upper(s[2]))
	if high < 0 || low < 0 {
		return 0, false
	}
	return byte(high<<4 | low), true
}

const hexDigits = "0123456789ABCDEF"

func upper(c byte) byte {
	if c >= 'a' {
		return c - ('a' - 'A')
	}
	return c
}

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
}
