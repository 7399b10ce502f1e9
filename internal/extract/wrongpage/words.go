package wrongpage

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
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
	w.all = eachWord([][]byte{clip(text, mostText)}, func(word []byte) { w.of[string(word)]++ })
	return w
}

// A part says what a letter is in a word.
type part int

const (
	between part = iota // words
	within              // a word
	alone               // a word by itself
)

func partOf(r rune) part {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return within
	case r < utf8.RuneSelf:
		return between
	case r >= firstUnspaced && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return alone
	case unicode.IsLetter(r), unicode.IsMark(r):
		return within
	}
	return between
}

// asciiWords are the bytes of words, of those that are letters by themselves.
var asciiWords = func() (is [256]bool) {
	for b := range rune(utf8.RuneSelf) {
		is[b] = partOf(b) == within
	}
	return is
}()

// countWords returns how many words a text has.
func countWords(text []byte) (n int) {
	for in := false; len(text) > 0; {
		if b := text[0]; b < utf8.RuneSelf {
			if asciiWords[b] && !in {
				n++
			}
			in, text = asciiWords[b], text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		p := partOf(r)
		if p == alone || p == within && !in {
			n++
		}
		in = p == within
	}
	return n
}

// eachWord calls each with the words of some texts, in small letters, and returns how
// many there are.
func eachWord(texts [][]byte, each func(word []byte)) (n int) {
	var word []byte // its memory serves all words
	for _, text := range texts {
		word = wordsIn(text, word, func(word []byte) {
			n++
			each(word)
		})
	}
	return n
}

// wordsIn calls each with the words of a text. It writes them to word, which is empty, and
// returns it, as empty and perhaps larger.
func wordsIn(text, word []byte, each func(word []byte)) []byte {
	end := func() {
		if len(word) > 0 {
			each(word)
			word = word[:0]
		}
	}
	for len(text) > 0 {
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
		case partOf(r) == within:
			word = utf8.AppendRune(word, unicode.ToLower(r))
		case partOf(r) == alone:
			end()
			word = utf8.AppendRune(word, r)
			end()
		default:
			end()
		}
	}
	end()
	return word
}

// firstUnspaced is the first letter of a script without spaces between words.
const firstUnspaced = 0x0e00

// An overlap is what two texts have in common.
type overlap struct {
	was        []byte   // the first text
	same       int      // bytes in the lines that both have
	gone, come [][]byte // the other lines of each
}

func overlapOf(was, is []byte) overlap {
	was, is = clip(was, mostText), clip(is, mostText)
	o := overlap{was: was}
	n := bytes.Count(is, []byte("\n")) + 1
	left, hashes := make(map[uint64]int, n), make([]uint64, 0, n)
	for line := range bytes.Lines(is) {
		hash := xxhash.Sum64(line)
		left[hash]++
		hashes = append(hashes, hash)
	}
	for line := range bytes.Lines(was) {
		if hash := xxhash.Sum64(line); left[hash] > 0 {
			left[hash]--
			o.same += len(line)
		} else {
			o.gone = append(o.gone, line)
		}
	}
	i := 0
	for line := range bytes.Lines(is) {
		if left[hashes[i]] > 0 {
			left[hashes[i]]--
			o.come = append(o.come, line)
		}
		i++
	}
	return o
}

// words returns how many words each of the texts has, and how many they have in common.
func (o overlap) words() (was, is, both int) {
	gone, come := count(o.gone), count(o.come)
	was = countWords(o.was)
	same := was - gone
	return was, same + come, same + common(o.gone, o.come)
}

// share returns the share of the words of the first text that are in the second, too.
func (o overlap) share() float64 {
	was, _, both := o.words()
	if was == 0 {
		return 0
	}
	return float64(both) / float64(was)
}

// linesStay reports whether more than a share of the bytes of the first text is in lines
// that both have.
func (o overlap) linesStay(share float64) bool { return float64(o.same) > share*float64(len(o.was)) }

// wordsStay reports whether more than a share of the words of the first text is in the
// second, too. Those of the lines that both have are mostly enough to tell.
func (o overlap) wordsStay(share float64) bool {
	was := countWords(o.was)
	return was > 0 && (float64(was-count(o.gone))/float64(was) > share || o.share() > share)
}

// common returns how many words lines have in common with other lines.
func common(a, b [][]byte) (n int) {
	words := map[uint64]int{}
	eachWord(b, func(word []byte) { words[xxhash.Sum64(word)]++ })
	eachWord(a, func(word []byte) {
		if hash := xxhash.Sum64(word); words[hash] > 0 {
			words[hash]--
			n++
		}
	})
	return n
}

// count returns how many words lines have.
func count(lines [][]byte) (n int) {
	for _, line := range lines {
		n += countWords(line)
	}
	return n
}

// alike is the share of words in common from which two texts are nearly the same.
const alike = 0.75

// Alike reports whether two texts are nearly the same, such as a refusal with
// another number of the incident in it.
func Alike(a, b []byte) bool {
	one, other, both := overlapOf(a, b).words()
	return 2*float64(both) >= alike*float64(one+other)
}
