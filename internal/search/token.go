package search

import (
	"iter"
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
	for from, to := range words(text) {
		tokens = append(tokens, Token{string(appendFolded(nil, text[from:to])), from, to})
	}
	return tokens
}

// Folded returns the words of a text as they are compared, with a space between them.
func Folded(text string) string {
	folded := make([]byte, 0, len(text))
	for from, to := range words(text) {
		if len(folded) > 0 {
			folded = append(folded, ' ')
		}
		folded = appendFolded(folded, text[from:to])
	}
	return string(folded)
}

// words yields where the words of a text stand in it.
func words(text string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for at := 0; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			end := at + size
			switch {
			case alone(r):
			case part(r):
				for end < len(text) {
					r, size := utf8.DecodeRuneInString(text[end:])
					if alone(r) || !part(r) && !unicode.Is(unicode.Mn, r) {
						break
					}
					end += size
				}
			default:
				at = end
				continue
			}
			if !yield(at, end) {
				return
			}
			at = end
		}
	}
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

// appendFolded appends a word as it is compared.
func appendFolded(dst []byte, word string) []byte {
	from := len(dst)
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= utf8.RuneSelf:
			return appendDecomposed(dst[:from], word)
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// appendDecomposed appends a word that has other letters than those of ASCII.
func appendDecomposed(dst []byte, word string) []byte {
	for _, r := range norm.NFKD.String(word) {
		if !unicode.Is(unicode.Mn, r) {
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
	}
	return dst
}
