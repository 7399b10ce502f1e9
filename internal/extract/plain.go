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
	n, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = n > 0
			continue
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
			continue
		}
		width := 1
		if space {
			width = 2
		}
		if n+width >= limit {
			b.WriteRune('…')
			break
		}
		if space {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		n, space = n+width, false
	}
	return b.String()
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
