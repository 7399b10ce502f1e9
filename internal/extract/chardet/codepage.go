package chardet

import (
	"math"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// Logarithms of how often a page of a language contains a character. They only have to be in the right order.
const (
	punctuation = -6.0  // quotes, dashes, no-break spaces: in all languages
	foreign     = -9.0  // a letter of the same script that the language does not use
	symbol      = -9.0  // currencies, fractions, signs
	alien       = -12.0 // a letter of another script
	broken      = -18.0 // a control character, or a byte that the encoding does not have

	capital   = -1.5 // a capital letter
	capitals  = -1.0 // a capital letter after another
	inWord    = -4.0 // a capital letter after a small one
	mixed     = -4.0 // two scripts in a word
	numbered  = -7.0 // a letter beside a digit
	splitting = -4.0 // a symbol between two letters
	clash     = -1.0 // two vowels side by side, or three consonants

	seldom = -3.0 // an encoding that few pages were published in
)

// A codePage is an encoding with one byte for each character.
type codePage struct {
	name      string
	charmap   *charmap.Charmap
	languages []language
	prior     float64
}

// Of two code pages that make the same of a text, the first is taken.
var codePages = []codePage{
	{Fallback, charmap.Windows1252, western, 0},
	{"windows-1250", charmap.Windows1250, central, 0},
	{"iso-8859-2", charmap.ISO8859_2, central, 0},
	{"windows-1251", charmap.Windows1251, slavic, 0},
	{"koi8-r", charmap.KOI8R, slavic, 0},
	{"koi8-u", charmap.KOI8U, slavic, 0},
	{"iso-8859-5", charmap.ISO8859_5, slavic, seldom},
	{"ibm866", charmap.CodePage866, slavic, seldom},
	{"x-mac-cyrillic", charmap.MacintoshCyrillic, slavic, seldom},
	{"windows-1253", charmap.Windows1253, hellenic, 0},
	{"iso-8859-7", charmap.ISO8859_7, hellenic, 0},
	{"windows-1254", charmap.Windows1254, turkish, 0},
	{"windows-1255", charmap.Windows1255, semitic, 0},
	{"windows-1256", charmap.Windows1256, arab, 0},
	{"iso-8859-6", charmap.ISO8859_6, arab, seldom},
	{"windows-1257", charmap.Windows1257, baltic, 0},
	{"iso-8859-4", charmap.ISO8859_4, baltic, seldom},
	{"iso-8859-13", charmap.ISO8859_13, baltic, seldom},
	{"windows-874", charmap.Windows874, siamese, seldom},
}

// A table is what the bytes of a code page mean.
type table struct {
	runes  [256]rune
	letter [256]bool
	small  [256]bool
	upper  [256]bool
	sounds [256]sound
	costs  [][128]float64 // of the bytes beyond ASCII, in each language
}

// tables are those of the code pages. They take some milliseconds to make, and most processes never need them.
var tables = sync.OnceValue(func() []table {
	all := make([]table, len(codePages))
	for i, p := range codePages {
		t := &all[i]
		for c := range t.runes {
			r := p.charmap.DecodeByte(byte(c))
			t.runes[c], t.sounds[c] = r, soundOf(r)
			t.letter[c], t.small[c], t.upper[c] = unicode.IsLetter(r) || unicode.IsMark(r), unicode.IsLower(r), unicode.IsUpper(r)
		}
		t.costs = make([][128]float64, len(p.languages))
		for k, l := range p.languages {
			for c := range t.costs[k] {
				t.costs[k][c] = l.likelihood(t.runes[0x80+c])
			}
		}
	}
	return all
})

// counts are how often each byte beyond ASCII occurs, and how often beside an ASCII letter.
type counts struct{ all, besideASCII [128]int }

func count(text []byte) (n counts) {
	for i, c := range text {
		if c < 0x80 {
			continue
		}
		n.all[c-0x80]++
		if i > 0 && asciiLetter(text[i-1]) || i+1 < len(text) && asciiLetter(text[i+1]) {
			n.besideASCII[c-0x80]++
		}
	}
	return n
}

func asciiLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// score returns the logarithm of the likelihood of text in the likeliest language of the code page, or something below atLeast if it is
// below that.
func (p *codePage) score(text []byte, n *counts, t *table, atLeast float64) float64 {
	best := math.Inf(-1)
	for k, l := range p.languages {
		sum := 0.0
		for c, times := range n.all {
			if times == 0 {
				continue
			}
			sum += float64(times) * t.costs[k][c]
			if l.script != latin && t.letter[0x80+c] {
				sum += float64(n.besideASCII[c]) * mixed
			}
		}
		best = max(best, sum)
	}
	if best += p.prior; best < atLeast {
		return best
	}
	return best + t.shapes(text)
}

// shapes returns what the shapes of words cost, which is the same in all languages.
func (t *table) shapes(text []byte) (cost float64) {
	for i, c := range text {
		var before, after byte
		if i > 0 {
			before = text[i-1]
		}
		if i+1 < len(text) {
			after = text[i+1]
		}
		if c < 0x80 {
			if before >= 0x80 && t.small[before] && t.upper[c] {
				cost += inWord
			}
			if before >= 0x80 && t.sounds[c] == vowel && t.sounds[before] == vowel {
				cost += clash
			}
			continue
		}
		cost += t.shape(before, c, after)
	}
	return cost
}

// shape returns what it costs to have a byte beyond ASCII between two others.
func (t *table) shape(before, c, after byte) (cost float64) {
	switch {
	case t.upper[c] && t.small[before]:
		cost += capital + inWord
	case t.upper[c] && t.upper[before]:
		cost += capitals
	case t.upper[c]:
		cost += capital
	case !t.letter[c] && t.letter[before] && t.letter[after] && !strings.ContainsRune(joining, t.runes[c]):
		cost += splitting
	}
	if t.letter[c] && (digit(before) || digit(after)) {
		cost += numbered
	}
	switch s := t.sounds[c]; {
	case s == vowel && t.sounds[before] == vowel, s == consonant && t.sounds[before] == consonant && t.sounds[after] == consonant:
		cost += clash
	}
	return cost
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// A sound is how a Latin letter is spoken, as far as that matters here.
type sound uint8

const (
	noSound sound = iota
	vowel
	consonant
)

func soundOf(r rune) sound {
	switch base := rune(norm.NFD.String(string(unicode.ToLower(r)))[0]); {
	case strings.ContainsRune("aeiouy", base) || strings.ContainsRune("øæœıØÆŒ", r):
		return vowel
	case base >= 'a' && base <= 'z' || strings.ContainsRune("ðþłđßÐÞŁĐ", r):
		return consonant
	}
	return noSound
}

const (
	joining = "’\u00a0\u00ad·–—" // may stand between two letters
	quoting = "’‘‚“”„«»‹›–—…\u00a0\u00ad\u200c\u200d\u200e\u200f"
)

// likelihood returns the logarithm of how often the language has a character. Letters are taken to follow Zipf's law.
func (l *language) likelihood(r rune) float64 {
	switch {
	case strings.ContainsRune(quoting, r):
		return punctuation
	case r == unicode.ReplacementChar || unicode.IsControl(r):
		return broken
	case !unicode.IsLetter(r) && !unicode.IsMark(r):
		return symbol
	}
	r = unicode.ToLower(r)
	rank, found, size := 0, false, 0
	for _, letter := range l.letters {
		if letter == r {
			found, rank = true, size
		}
		size++
	}
	switch {
	case found:
		return -math.Log(float64(rank+2) * math.Log(float64(size+2)/1.5))
	case scriptOf(r) == l.script:
		return foreign
	}
	return alien
}

func scriptOf(r rune) script {
	for s, table := range [...]*unicode.RangeTable{latin: unicode.Latin, cyrillic: unicode.Cyrillic, greek: unicode.Greek, hebrew: unicode.Hebrew, arabic: unicode.Arabic, thai: unicode.Thai} {
		if unicode.Is(table, r) {
			return script(s)
		}
	}
	return latin
}
