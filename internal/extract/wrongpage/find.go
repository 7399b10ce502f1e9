package wrongpage

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A finder finds which of many signs a text has in one pass over it. To look for one
// after the other takes a hundred times as long, which is more than all the rest of a
// poll.
type finder struct {
	signs []sign
	first [1 << finderBits]uint16 // one more than the index of a sign, by the hash of its first bytes; zero if there is none
	next  []uint16                // likewise, of the next sign with the same hash
}

const (
	finderBits  = 13
	finderBytes = 3 // that are hashed; no sign is shorter
)

func newFinder(signs []sign) *finder {
	f := &finder{signs: signs, next: make([]uint16, len(signs))}
	for i, s := range signs {
		slot := finderSlot(s.text[0], s.text[1], s.text[2])
		f.next[i], f.first[slot] = f.first[slot], uint16(i+1)
	}
	return f
}

func finderSlot(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9e3779b1 >> (32 - finderBits)
}

// find adds the signs that a text has.
func (f *finder) find(text []byte, found map[sign]bool) {
	for i := 0; i+finderBytes <= len(text); i++ {
		for n := f.first[finderSlot(text[i], text[i+1], text[i+2])]; n != 0; n = f.next[n-1] {
			s := &f.signs[n-1]
			if rest := text[i:]; len(rest) >= len(s.text) && string(rest[:len(s.text)]) == s.text {
				found[*s] = true
			}
		}
	}
}

// plain returns a text as phrases are looked for in it: in small letters, with one
// kind of apostrophe, and with one space where there is any.
func plain(text []byte) []byte {
	out := make([]byte, 0, len(text))
	gap := false // there was space since the last letter
	put := func(letters ...byte) {
		if gap && len(out) > 0 {
			out = append(out, ' ')
		}
		gap = false
		out = append(out, letters...)
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			i += size
			switch r = unicode.ToLower(r); {
			case r == '’' || r == '‘' || r == '´':
				put('\'')
			case r == '…':
				put([]byte("...")...)
			case unicode.IsSpace(r):
				gap = true
			default:
				put(utf8.AppendRune(nil, r)...)
			}
			continue
		}
		i++
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			gap = true
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '`':
			c = '\''
		}
		if gap {
			put(c)
		} else {
			out = append(out, c)
		}
	}
	return out
}

// plainLines is plain, line by line.
func plainLines(text []byte) string {
	lines := bytes.Split(clip(text, mostText), []byte("\n"))
	for i, line := range lines {
		lines[i] = plain(line)
	}
	return string(bytes.Join(lines, []byte("\n")))
}
