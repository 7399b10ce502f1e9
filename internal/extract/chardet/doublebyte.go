package chardet

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Logarithms of how often a page contains a character.
const (
	kanaOften  = -4.0
	halfWidth  = -9.0  // katakana of half the width
	frequent   = -5.6  // a character that every page contains
	usual      = -8.5  // a character of the part of the encoding that schools teach
	rare       = -15.0 // any other
	punctuated = -4.5  // full-width punctuation
	impossible = -25.0 // not a character
)

// A doubleByte is an encoding in which most characters beyond ASCII take two bytes.
type doubleByte struct {
	name     string
	encoding encoding.Encoding
	from, to byte // of the first bytes of usual characters
	kana     bool
	frequent string
	length   func(text []byte) int // of the character that text starts with, which is beyond ASCII
}

var doubleBytes = []doubleByte{
	{"shift_jis", japanese.ShiftJIS, 0x88, 0x97, true, kanji, func(text []byte) int {
		if text[0] >= 0xa1 && text[0] <= 0xdf {
			return 1
		}
		return 2
	}},
	{"euc-jp", japanese.EUCJP, 0xb0, 0xcf, true, kanji, func(text []byte) int {
		if text[0] == 0x8f {
			return 3
		}
		return 2
	}},
	{"gb18030", simplifiedchinese.GB18030, 0xb0, 0xd7, false, simplified, func(text []byte) int {
		if len(text) > 1 && text[1] >= '0' && text[1] <= '9' {
			return 4
		}
		return 2
	}},
	{"big5", traditionalchinese.Big5, 0xa4, 0xc6, false, traditional, two},
	{"euc-kr", korean.EUCKR, 0xb0, 0xc8, false, hangul, two},
}

// frequents are the sets of the frequent characters.
var frequents = sync.OnceValue(func() map[string]map[rune]bool {
	sets := map[string]map[rune]bool{}
	for _, d := range doubleBytes {
		set := map[rune]bool{}
		for _, r := range d.frequent {
			set[r] = true
		}
		sets[d.frequent] = set
	}
	return sets
})

func two([]byte) int { return 2 }

// score returns the logarithm of the likelihood of text, or something below atLeast if it is below that.
func (d *doubleByte) score(text []byte, atLeast float64) float64 {
	often := frequents()[d.frequent]
	decoder := d.encoding.NewDecoder()
	sum := 0.0
	for i := 0; i < len(text) && sum > atLeast; {
		if text[i] < 0x80 {
			i++
			continue
		}
		n := d.length(text[i:])
		if i+n > len(text) {
			break // cut off
		}
		var out [utf8.UTFMax * 2]byte
		decoder.Reset()
		size, _, err := decoder.Transform(out[:], text[i:i+n], true)
		r, first := utf8.DecodeRune(out[:size])
		if err != nil || first != size {
			r = unicode.ReplacementChar
		}
		if r == unicode.ReplacementChar {
			sum, i = sum+impossible, i+1
			continue
		}
		sum, i = sum+d.likelihood(r, text[i], often), i+n
	}
	return sum
}

func (d *doubleByte) likelihood(r rune, lead byte, often map[rune]bool) float64 {
	switch {
	case often[r]:
		return frequent
	case r >= 0xff61 && r <= 0xff9f:
		return halfWidth
	case strings.ContainsRune("、。「」『』《》（）・ー，！？：；“”…—　", r):
		return punctuated
	case d.kana && unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return kanaOften
	case lead >= d.from && lead <= d.to && unicode.IsLetter(r):
		return usual
	}
	return rare
}
