package extract

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainText returns text with its line ends, trailing spaces and control
// characters put in order.
func plainText(b []byte) []byte {
	out := make([]byte, 0, len(b)+1)
	for len(b) > 0 {
		end := bytes.IndexAny(b, "\n\r")
		line := b
		if end < 0 {
			b = nil
		} else {
			line = b[:end]
			if b[end] == '\r' && end+1 < len(b) && b[end+1] == '\n' {
				end++
			}
			b = b[end+1:]
		}
		out = append(appendVisible(out, bytes.TrimRightFunc(line, isPadding)), '\n')
		for len(out) > 1 && (out[len(out)-2] == ' ' || out[len(out)-2] == '\t') {
			out = append(out[:len(out)-2], '\n') // spaces before dropped characters
		}
	}
	out = bytes.TrimRight(out, "\n")
	if len(out) > 0 {
		out = append(out, '\n')
	}
	return out
}

func isPadding(r rune) bool { return unicode.IsSpace(r) }

// appendVisible appends line without control characters other than tabs.
func appendVisible(dst, line []byte) []byte {
	for i := 0; i < len(line); {
		start := i
		for i < len(line) && (looks[line[i]] == solid || line[i] == ' ' || line[i] == '\t') {
			i++
		}
		dst = append(dst, line[start:i]...)
		if i == len(line) {
			break
		}
		r, n := utf8.DecodeRune(line[i:])
		if !unicode.IsControl(r) && r != '\ufeff' {
			dst = append(dst, line[i:i+n]...)
		}
		i += n
	}
	return dst
}

// oneLine returns s in one line of at most limit runes, with white space
// collapsed and without characters that could move a cursor or turn the
// direction of writing.
func oneLine(s string, limit int) string {
	if isOneLine(s, limit) {
		return s
	}
	var b strings.Builder
	b.Grow(min(len(s), limit))
	n, gap := 0, 0 // runes written, and a space that is due
	for len(s) > 0 {
		runes, size := graphic(s)
		if runes == 0 {
			r, size := utf8.DecodeRuneInString(s)
			if unicode.IsSpace(r) {
				gap = min(n, 1)
			}
			s = s[size:]
			continue
		}
		if room := limit - 1 - n - gap; runes > room {
			if room > 0 {
				b.WriteString(" "[:gap] + string([]rune(s[:size])[:room]))
			}
			b.WriteRune('…')
			break
		}
		b.WriteString(" "[:gap])
		b.WriteString(s[:size])
		n, gap, s = n+gap+runes, 0, s[size:]
	}
	return b.String()
}

// graphic returns how many runes s begins with that oneLine keeps as they are, and their size.
func graphic(s string) (runes, size int) {
	for size < len(s) {
		c := s[size]
		if c > ' ' && c < 0x7f {
			runes, size = runes+1, size+1
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(s[size:])
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			break
		}
		runes, size = runes+1, size+n
	}
	return runes, size
}

// isOneLine reports whether a text is plain ASCII that oneLine does not alter, as most are.
func isOneLine(s string, limit int) bool {
	if len(s) >= limit {
		return false
	}
	last := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return s == "" || last != ' '
}
