package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Token is a word of a text, as it is compared: in lower case and without accents.
type Token struct {
	Text     string
	From, To int // where it stands in the text, in bytes
}

// Tokens returns the words of a text in their order. Scripts that are written without
// spaces have a word for each character.
func Tokens(text string) (tokens []Token) {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case alone(r):
			tokens = append(tokens, Token{fold(text[at : at+size]), at, at + size})
			at += size
		case part(r):
			end := at + size
			for end < len(text) {
				r, size := utf8.DecodeRuneInString(text[end:])
				if alone(r) || !part(r) && !unicode.Is(unicode.Mn, r) {
					break
				}
				end += size
			}
			tokens = append(tokens, Token{fold(text[at:end]), at, end})
			at = end
		default:
			at += size
		}
	}
	return tokens
}

// Folded returns the words of a text as they are compared, with a space between them.
func Folded(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i, t := range Tokens(text) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// part reports whether a rune belongs to a word.
func part(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// alone reports whether a rune is a word of its own.
func alone(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && part(r)
}

// fold returns a word as it is compared.
func fold(word string) string {
	plain := true
	for i := range len(word) {
		if c := word[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return word
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(word) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}
