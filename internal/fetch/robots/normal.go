package robots

import "strings"

const (
	unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
	reserved   = ":/?#[]@!$&'()*+,;="
	hexDigits  = "0123456789ABCDEF"
)

// The classes of octets in a path.
const (
	encoded = iota // is always written as an escape
	kept           // is not the same as its escape
	plain          // is never written as an escape
)

var classes = func() (c [256]byte) {
	for i := range len(reserved) {
		c[reserved[i]] = kept
	}
	for i := range len(unreserved) {
		c[unreserved[i]] = plain
	}
	return c
}()

// normal returns a path or a pattern in the form in which they are compared: what can be
// written with an escape and without is written in one way (RFC 9309, 2.2.2). Escapes
// are in upper case. A percent sign that begins no escape stays.
func normal(path string) string {
	clean := true
	for i := 0; i < len(path) && clean; i++ {
		clean = path[i] != '%' && classes[path[i]] != encoded
	}
	if clean {
		return path
	}
	var b strings.Builder
	b.Grow(len(path) + 8)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if octet, ok := unescaped(path[i:]); ok {
				i += 2
				if classes[octet] == plain {
					b.WriteByte(octet)
				} else {
					escape(&b, octet)
				}
				continue
			}
			b.WriteByte('%')
			continue
		}
		if classes[c] == encoded {
			escape(&b, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// literal returns a normal path with the signs that mean something in a pattern escaped,
// so that an escaped one in a pattern finds them (RFC 9309, 2.2.3).
func literal(path string) string {
	if !strings.ContainsAny(path, "*$") {
		return path
	}
	return signs.Replace(path)
}

var signs = strings.NewReplacer("*", "%2A", "$", "%24")

func escape(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(hexDigits[c>>4])
	b.WriteByte(hexDigits[c&15])
}

// unescaped returns the octet that an escape at the beginning of a text stands for.
func unescaped(text string) (octet byte, ok bool) {
	if len(text) < 3 {
		return 0, false
	}
	for _, c := range []byte(text[1:3]) {
		switch {
		case '0' <= c && c <= '9':
			octet = octet<<4 | (c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			octet = octet<<4 | (c | 0x20 - 'a' + 10)
		default:
			return 0, false
		}
	}
	return octet, true
}

// pathOf returns the path and query of what somebody gives as one, which can be a whole
// URL. It begins with a slash and has no fragment.
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
