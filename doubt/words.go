package doubt

import (
	"unicode"
	"unicode/utf8"
)

// words are those of a text, with how often each comes. Digits count as one another,
// so that a clock or a number of visitors does not make a page another one. Of
// scripts without spaces between words each letter is one.
type words struct {
	of  map[string]int
	all int
}

// wordsOf returns the words of a text.
func wordsOf(text []byte) words {
	w := words{of: map[string]int{}}
	var word []byte
	end := func() {
		if len(word) > 0 {
			w.of[string(word)]++
			w.all++
			word = word[:0]
		}
	}
	for text = clip(text, mostText); len(text) > 0; {
		r, size := rune(text[0]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text)
		}
		text = text[size:]
		switch {
		case 'a' <= r && r <= 'z':
			word = append(word, byte(r))
		case 'A' <= r && r <= 'Z':
			word = append(word, byte(r)+'a'-'A')
		case '0' <= r && r <= '9':
			word = append(word, '0')
		case r < utf8.RuneSelf:
			end()
		case r >= firstUnspaced && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			word = utf8.AppendRune(word, r)
			end()
		case unicode.IsLetter(r), unicode.IsMark(r):
			word = utf8.AppendRune(word, unicode.ToLower(r))
		default:
			end()
		}
	}
	end()
	return w
}

// firstUnspaced is the first letter of a script without spaces between words.
const firstUnspaced = 0x0e00

// keptIn returns the share of the words that are in another text, too.
func (w words) keptIn(other words) float64 {
	if w.all == 0 {
		return 0
	}
	return float64(w.common(other)) / float64(w.all)
}

func (w words) common(other words) (n int) {
	for word, count := range w.of {
		n += min(count, other.of[word])
	}
	return n
}

// alike is the share of words in common from which two texts are nearly the same.
const alike = 0.75

// Alike reports whether two texts are nearly the same, such as a refusal with
// another number of the incident in it.
func Alike(a, b []byte) bool {
	one, other := wordsOf(a), wordsOf(b)
	if one.all+other.all == 0 {
		return true
	}
	return 2*float64(one.common(other)) >= alike*float64(one.all+other.all)
}
