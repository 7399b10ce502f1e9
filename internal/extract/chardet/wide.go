package chardet

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf16"
)

// Wide returns "utf-16le" or "utf-16be" if text is UTF-16 without a byte order mark, and "" otherwise. Spaces, line ends and ASCII
// letters have a zero byte on the same side, and next to no others have one; text in other encodings has none.
func Wide(text []byte) string {
	text = text[:min(len(text), sample)&^1]
	if bytes.IndexByte(text, 0) < 0 {
		return ""
	}
	var zeros [2]int
	for i, c := range text {
		if c == 0 {
			zeros[i&1]++
		}
	}
	const (
		least = 100 // one of so many characters has a zero byte
		sides = 4   // times as many have it on one side as on the other
	)
	switch {
	case zeros[1] >= sides*zeros[0] && zeros[1]*least >= len(text)/2 && readable(text, binary.LittleEndian):
		return "utf-16le"
	case zeros[0] >= sides*zeros[1] && zeros[0]*least >= len(text)/2 && readable(text, binary.BigEndian):
		return "utf-16be"
	}
	return ""
}

// readable reports whether UTF-16 contains characters that text is made of, and nothing else.
func readable(text []byte, order binary.ByteOrder) bool {
	if len(text) < 4 {
		return false
	}
	for i := 0; i < len(text); i += 2 {
		r := rune(order.Uint16(text[i:]))
		if utf16.IsSurrogate(r) {
			if i+4 > len(text) {
				return true // cut off
			}
			r = utf16.DecodeRune(r, rune(order.Uint16(text[i+2:])))
			i += 2
		}
		if r == unicode.ReplacementChar || !unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
			return false
		}
	}
	return true
}
