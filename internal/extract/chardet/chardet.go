// Package chardet finds out how text is encoded that does not say so.
//
// Each encoding that pages were written in before UTF-8 is tried: the letters that it makes of the bytes beyond
// ASCII are held against the letters of the languages that use it. The likeliest pair of encoding and language wins.
package chardet

import (
	"bytes"
	"math"
	"unicode/utf8"
)

const (
	sample  = 64 << 10 // bytes that are looked at at most, around the first ones beyond ASCII
	enough  = 4 << 10  // bytes beyond ASCII that are looked at
	context = 64       // bytes before the first of them

	// margin is how much likelier another encoding has to be than windows-1252, as the logarithm of the ratio. With less, one letter
	// more or less would have the whole page read otherwise.
	margin = 4
)

// Fallback is the encoding of text that gives too few hints.
const Fallback = "windows-1252"

// Detect returns the likeliest encoding of a text that is not UTF-8, as the WHATWG's standard names it.
func Detect(text []byte) string {
	switch part := sampled(text); {
	case part != nil:
		return likeliest(part)
	case japanese7bit(text):
		return "iso-2022-jp"
	}
	return Fallback
}

// sampled returns the part of text that is looked at: nil if all is ASCII.
func sampled(text []byte) []byte {
	from := bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	if from < 0 {
		return nil
	}
	from = max(0, from-context)
	text = text[from:min(len(text), from+sample)]
	beyond := 0
	for i, c := range text {
		if c < utf8.RuneSelf {
			continue
		}
		if beyond++; beyond > enough {
			return text[:i]
		}
	}
	return text
}

// likeliest returns the encoding that explains text best.
func likeliest(text []byte) string {
	best, bestScore := Fallback, math.Inf(-1)
	counts := count(text)
	for i, table := range tables() {
		score := codePages[i].score(text, &counts, &table, bestScore)
		if codePages[i].name == Fallback {
			score += margin
		}
		if score > bestScore {
			best, bestScore = codePages[i].name, score
		}
	}
	for i := range doubleBytes {
		if score := doubleBytes[i].score(text, bestScore); score > bestScore {
			best, bestScore = doubleBytes[i].name, score
		}
	}
	return best
}

// japanese7bit reports whether text shifts to two-byte characters the way that ISO-2022-JP does. Its bytes are all ASCII.
func japanese7bit(text []byte) bool {
	text = text[:min(len(text), sample)]
	for _, shift := range []string{"\x1b$B", "\x1b$@"} {
		if i := bytes.Index(text, []byte(shift)); i >= 0 && bytes.Contains(text[i:], []byte("\x1b(")) {
			return true
		}
	}
	return false
}
