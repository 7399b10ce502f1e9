package noise

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Kind is what sort of thing differs in a place.
type Kind uint8

// The kinds of things that differ.
const (
	Words   Kind = iota // whole lines, or words in them
	Order               // the order of lines
	Age                 // "3 hours ago"
	Time                // "12:03:44"
	Date                // "2026-03-01", "1 March 2026"
	ID                  // a word of letters and digits, a hash, an address
	Counter             // a number of views, visitors, milliseconds
	Number              // any other number
	Money               // a price
	Release             // a version number
	Mail                // an e-mail address
	kinds               // how many there are
)

var kindNames = [kinds]string{"words", "order", "age", "time", "date", "id", "counter", "number", "price", "version", "e-mail address"}

// String returns the kind in one word, or three.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "unknown"
}

// A token is a part of a line that can differ while the line stays the same.
type token struct {
	kind     Kind
	from, to int // in the line, in bytes
}

// longWord is how many letters a word has that may be none.
const longWord = 16

// closer returns the kind of a token after a closer look at it and what is around it.
func (x *lexer) closer(t token) Kind {
	text := x.line[t.from:t.to]
	switch t.kind {
	case Words:
		if looksLikeID(text) {
			if x.ofRelease(t) {
				return Release
			}
			return ID
		}
		if isDigit(text[0]) { // with a unit: 10km
			return x.numberKind(t)
		}
	case Release:
		if isAddress(text) && !x.ofRelease(t) {
			return ID
		}
	case Number:
		return x.numberKind(t)
	}
	return t.kind
}

// isAddress reports whether a text is an IPv4 address.
func isAddress(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is4()
}

// ofRelease reports whether the words before a token say that it names a release: a
// word such as version at most two words before it, or a v next to it.
func (x *lexer) ofRelease(t token) bool {
	const near = 96 // bytes before a token that say what it is
	before := x.line[max(0, t.from-near):t.from]
	v := strings.TrimSuffix(strings.TrimSuffix(before, " "), ".")
	if n := len(v); n > 0 && v[n-1]|0x20 == 'v' && (n == 1 || !isASCIIWord(v[n-2])) {
		return true
	}
	for _, h := range slices.Backward(x.hints) {
		if h.kind != Release || h.to > t.from {
			continue
		}
		if t.from-h.from > near {
			return false
		}
		rest := strings.TrimLeftFunc(x.line[h.to:t.from], func(r rune) bool { return !isWordRune(r) })
		return rest == "" || unicode.IsSpace(rune(rest[len(rest)-1])) && len(strings.Fields(rest)) <= 2
	}
	return false
}

// numberKind tells numbers that only count from those that say something.
func (x *lexer) numberKind(t token) Kind {
	digits := strings.TrimLeft(x.line[t.from:t.to], "+-")
	at := afterSpace(x.line, t.to)
	switch {
	case len(digits) >= 8 && strings.Trim(digits, "0123456789") == "": // a moment in Unix time, or drawn by chance
		return ID
	case x.ofRelease(t):
		return Release
	case timeUnits.has(x.line[at:wordEnd(x.line, at)]), isCounted(digits), x.counts(t), isSum(x.line):
		return Counter
	}
	return Number
}

// counts reports whether words near a number say that it counts something.
func (x *lexer) counts(t token) bool {
	const near = 32 // bytes around a number that say what it counts
	return slices.ContainsFunc(x.hints, func(h hint) bool { return h.kind == Counter && h.from >= t.from-near && h.to <= t.to+near })
}

// isCounted reports whether a number is one of hours and the like, as in 3h.
func isCounted(number string) bool {
	unit := strings.TrimLeft(number, "0123456789.,")
	return unit != "" && unit != number && unit != "m" && timeUnits.has(unit)
}

// isSum reports whether a line asks for the sum of two numbers, as forms do to know
// robots: 3 + 4 = ?
func isSum(line string) bool {
	for i := range len(line) {
		if line[i] != '=' && line[i] != '?' {
			continue
		}
		left := strings.TrimSuffix(line[:i], " ")
		terms := strings.TrimRight(left, "0123456789")
		if terms == left {
			continue
		}
		terms = strings.TrimSuffix(terms, " ")
		r, size := utf8.DecodeLastRuneInString(terms)
		first := strings.TrimSuffix(terms[:len(terms)-size], " ")
		if strings.ContainsRune("+×*x−–-", r) && first != "" && isDigit(first[len(first)-1]) {
			return true
		}
	}
	return false
}

// looksLikeID reports whether a word is none: digits among its letters, or as many
// changes between small and capital letters as only keys have.
func looksLikeID(word string) bool {
	var letters, digits, tail, turns int
	last := rune(0)
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits, tail = digits+1, 0
		case unicode.IsLetter(r):
			letters, tail = letters+1, tail+1
			if unicode.IsLetter(last) && unicode.IsUpper(last) != unicode.IsUpper(r) {
				turns++
			}
		}
		last = r
	}
	if digits == 0 {
		return letters >= longWord && turns >= 5
	}
	unit := isDigit(word[0]) && letters == tail && letters <= 3 // 10km, 2nd
	return letters > 0 && letters+digits >= 4 && !unit
}

// stand returns what stands for a token in a pattern. Of a name with a number only the
// number varies.
func (t token) stand(text string) string {
	name := strings.TrimRight(text, "0123456789")
	if t.kind == ID && name != text && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return name + mark(Number)
	}
	return mark(t.kind)
}

// mark is what stands for a kind in a pattern.
func mark(k Kind) string { return "<" + k.String() + ">" }
