package noise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A lexer goes through a line from left to right and takes down its tokens. Where several
// can begin at a place, number and word say which is tried first.
type lexer struct {
	line   string
	tokens []token
	hints  []hint // words that say what the numbers near them are

	mails  bool // there may be e-mail addresses
	nomail int  // none begins before this place
}

// A hint is a word that says what the numbers near it are.
type hint struct {
	kind     Kind // Counter or Release
	from, to int
}

// tokenize returns the tokens of a line that are more than words, in their order. A line
// in which nothing but names of days could be tokens has none: those are words like
// others there.
func tokenize(line string) []token {
	x := lexer{line: line, mails: strings.IndexByte(line, '@') >= 0}
	for i := 0; i < len(line); {
		i = x.step(i)
	}
	found, days := x.tokens[:0], 0
	for _, t := range x.tokens {
		if t.kind = x.closer(t); t.kind == Words {
			continue
		}
		if t.kind == Date && !strings.ContainsAny(line[t.from:t.to], "0123456789") {
			days++
		}
		found = append(found, t)
	}
	if days == len(found) {
		return nil
	}
	return found
}

// step takes what begins at a place, and returns where to go on.
func (x *lexer) step(i int) int {
	switch c := x.line[i]; {
	case isDigit(c):
		return x.take(x.number(i))
	case c < utf8.RuneSelf && asciiWord[c]:
		return x.word(i)
	case c == '+' || c == '-':
		return x.sign(i)
	case c == '[':
		return x.take(x.hidden(i))
	case c == '$':
		return x.take(x.price(i, 1))
	case c < utf8.RuneSelf:
		return i + 1
	}
	r, size := utf8.DecodeRuneInString(x.line[i:])
	switch {
	case unicode.IsDigit(r):
		if t := (token{from: i}); t.is(Age, ageEnd(x.line, i)) {
			return x.take(t)
		}
		return x.word(i)
	case isWordRune(r):
		return x.word(i)
	case isCurrency(r):
		return x.take(x.price(i, size))
	}
	return i + size
}

// take takes down a token, unless it is of no kind, and returns where it ends.
func (x *lexer) take(t token) int {
	if t.kind != Words || t.to-t.from >= longWord || strings.ContainsFunc(x.line[t.from:t.to], unicode.IsNumber) {
		x.tokens = append(x.tokens, t)
	}
	return t.to
}

// sign takes a number with a sign, unless what comes after the sign is more than a
// number.
func (x *lexer) sign(i int) int {
	if i+1 == len(x.line) || !isDigit(x.line[i+1]) {
		return i + 1
	}
	t := x.number(i + 1)
	if t.kind == Number {
		t.from = i
	}
	return x.take(t)
}

// number returns what begins with a digit.
func (x *lexer) number(i int) token {
	line, t := x.line, token{from: i}
	switch {
	case t.is(Mail, x.mailEnd(i)), t.is(Time, timeEnd(line, i)), t.is(ID, uuidEnd(line, i)), t.is(Age, ageEnd(line, i)), t.is(Date, dateEnd(line, i)),
		t.is(Money, amountEnd(line, i)), t.is(Release, releaseEnd(line, i)), t.is(Number, numberEnd(line, i)):
	default:
		t.is(Words, wordEnd(line, i))
	}
	return t
}

// word takes what begins with a letter.
func (x *lexer) word(i int) int {
	line, t, end := x.line, token{from: i}, wordEnd(x.line, i)
	says := classOf(line[i:end])
	switch {
	case t.is(Mail, x.mailEnd(i)), end-i == 8 && t.is(ID, uuidEnd(line, i)),
		says&mayAge != 0 && t.is(Age, ageEnd(line, i)), t.is(Date, namedDateEnd(line, i, end, says)),
		t.is(Money, codedEnd(line, i)), t.is(Release, namedReleaseEnd(line, i)):
		return x.take(t)
	case says&mayCount != 0 && t.is(Counter, counterWords.at(line, i, end)), says&isRelease != 0 && t.is(Release, end):
		x.hints = append(x.hints, hint(t))
		return t.to
	}
	t.is(Words, end)
	return x.take(t)
}

// is makes a token of a kind, if it ends after its beginning.
func (t *token) is(kind Kind, end int) bool {
	if end <= t.from {
		return false
	}
	t.kind, t.to = kind, end
	return true
}

// A class says what a word can be, or begin.
type class uint8

const (
	mayAge class = 1 << iota
	mayCount
	isRelease
	isMonth
	isDay
)

var classes = func() map[string]class {
	all := map[string]class{}
	for c, words := range map[class]lexicon{mayAge: ageBeginnings, mayCount: counterWords, isRelease: releaseWords, isMonth: monthNames, isDay: dayNames} {
		for word := range words {
			all[word] |= c
		}
	}
	return all
}()

func classOf(word string) class { return lookUp(classes, word) }

// hidden returns an e-mail address that is hidden from robots, or what begins with a
// bracket otherwise: nothing.
func (x *lexer) hidden(i int) token {
	rest := x.line[i:]
	for _, text := range []string{"[email protected]", "[email\u00a0protected]"} {
		if len(rest) >= len(text) && strings.EqualFold(rest[:len(text)], text) {
			return token{Mail, i, i + len(text)}
		}
	}
	return token{from: i, to: i + 1}
}

// mailEnd returns where an e-mail address ends; zero if there is none.
func (x *lexer) mailEnd(i int) int {
	if !x.mails || i < x.nomail {
		return 0
	}
	line, at := x.line, i
	for at < len(line) && (isASCIIWord(line[at]) || strings.IndexByte(".+-", line[at]) >= 0) {
		at++
	}
	if at == i || at == len(line) || line[at] != '@' {
		x.nomail = at
		return 0
	}
	end := at + 1
	for end < len(line) && (isASCIIWord(line[end]) || line[end] == '.' || line[end] == '-') {
		end++
	}
	host := strings.TrimRight(line[at+1:end], ".-")
	if strings.IndexByte(host, '.') <= 0 {
		return 0
	}
	return at + 1 + len(host)
}

// uuidEnd returns where a UUID ends; zero if there is none.
func uuidEnd(line string, i int) int {
	const length = 36
	if i+length > len(line) || line[i+8] != '-' || !endsWord(line, i+length) {
		return 0
	}
	for k := range length {
		switch c := line[i+k]; {
		case k == 8 || k == 13 || k == 18 || k == 23:
			if c != '-' {
				return 0
			}
		case !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f'):
			return 0
		}
	}
	return i + length
}

// releaseEnd returns where a version number of three parts or more ends, such as
// 1.2.3-rc1; zero if there is none.
func releaseEnd(line string, i int) int {
	major := digitsEnd(line, i)
	if major == i || !has(line, major, '.') {
		return 0
	}
	minor := digitsEnd(line, major+1)
	if minor == major+1 {
		return 0
	}
	for minor < len(line) && isASCIIWord(line[minor]) {
		minor++
	}
	if !has(line, minor, '.') || minor+1 == len(line) || !isASCIIWord(line[minor+1]) {
		return 0
	}
	end := minor + 1
	for end < len(line) && (isASCIIWord(line[end]) || strings.IndexByte(".+-", line[end]) >= 0) {
		end++
	}
	return len(strings.TrimRight(line[:end], ".+-"))
}

// namedReleaseEnd is releaseEnd, for v1.2.3.
func namedReleaseEnd(line string, i int) int {
	if line[i]|0x20 != 'v' {
		return 0
	}
	return releaseEnd(line, i+1)
}

// numberEnd returns where a number ends that no letter comes after; zero if there is
// none.
func numberEnd(line string, i int) (end int) {
	for at := i; ; {
		digits := digitsEnd(line, at)
		if digits == at {
			return end
		}
		if endsWord(line, digits) {
			end = digits
		}
		if p := afterSpace(line, digits); has(line, p, '%') {
			return p + 1
		}
		size := separator(line, digits)
		if size == 0 {
			return end
		}
		at = digits + size
	}
}

// separator returns the size of what stands between the digits of a number at a place;
// zero if nothing such does.
func separator(line string, i int) int {
	switch {
	case i == len(line):
		return 0
	case line[i] == '.' || line[i] == ',' || line[i] == '\'':
		return 1
	case strings.HasPrefix(line[i:], "’"):
		return len("’")
	}
	return 0
}

// figureEnd returns where the figure of a price ends.
func figureEnd(line string, i int) (end int) {
	for at := i; ; {
		digits := digitsEnd(line, at)
		if digits == at {
			return end
		}
		size := separator(line, digits)
		if end = digits; size == 0 {
			return end
		}
		at = digits + size
	}
}

// amountEnd returns where a price ends that has its currency behind it; zero if there is
// none.
func amountEnd(line string, i int) int {
	at := afterSpace(line, figureEnd(line, i))
	r, size := utf8.DecodeRuneInString(line[at:])
	if isCurrency(r) {
		return at + size
	}
	if end := wordEnd(line, at); end > at && currenciesAfter.has(line[at:end]) {
		return end
	}
	return 0
}

// price returns a price after the sign of a currency, or what the sign is otherwise:
// nothing.
func (x *lexer) price(i, size int) token {
	if end := pricedEnd(x.line, i+size); end > 0 {
		return token{Money, i, end}
	}
	return token{from: i, to: i + size}
}

// codedEnd returns where a price ends that begins with the code of a currency, as in
// EUR 5; zero if there is none.
func codedEnd(line string, i int) int {
	const code = 3 // letters
	if i+code >= len(line) || !isDigitAt(line, afterSpace(line, i+code)) || !currencies.has(line[i:i+code]) {
		return 0
	}
	return pricedEnd(line, i+code)
}

// pricedEnd returns where the figure after a currency ends; zero if there is none.
func pricedEnd(line string, i int) int {
	end := figureEnd(line, afterSpace(line, i))
	if end == 0 {
		return 0
	}
	at := afterSpace(line, end)
	if word := wordEnd(line, at); word > at && multiples.has(line[at:word]) {
		return word
	}
	return end
}

func isCurrency(r rune) bool { return strings.ContainsRune("$€£¥₹₽₩₺₴", r) }

func isASCIIWord(c byte) bool { return c < utf8.RuneSelf && asciiWord[c] }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isDigitAt(line string, i int) bool { return i < len(line) && isDigit(line[i]) }

// has reports whether a line has a byte at a place.
func has(line string, i int, c byte) bool { return i < len(line) && line[i] == c }

// digitsEnd returns where the digits end that a line has at a place.
func digitsEnd(line string, i int) int {
	for isDigitAt(line, i) {
		i++
	}
	return i
}

// spaceEnd returns where the one space ends that a line has at a place; zero if there is
// none.
func spaceEnd(line string, i int) int {
	switch {
	case has(line, i, ' ') || has(line, i, '\t'):
		return i + 1
	case strings.HasPrefix(line[min(i, len(line)):], "\u00a0"):
		return i + len("\u00a0")
	}
	return 0
}

// afterSpace returns the place after one space, if there is one.
func afterSpace(line string, i int) int { return max(i, spaceEnd(line, i)) }

// timeEnd returns where a time of day ends, with or without a date before it; zero if
// there is none.
func timeEnd(line string, i int) int {
	switch hour := digitsEnd(line, i); hour - i {
	case 4: // 2026-03-01T12:03:44Z
		day := i + len("2026-03-01")
		month := digitsEnd(line, hour+1)
		if !has(line, hour, '-') || month != hour+3 || !has(line, month, '-') || digitsEnd(line, month+1) != day || !has(line, day, ' ') && !has(line, day, 'T') && !has(line, day, 't') {
			return 0
		}
		if end := clockEnd(line, day+1); end > 0 {
			return zoneEnd(line, end)
		}
	case 1, 2:
		if end := clockEnd(line, i); end > 0 {
			return max(end, halfDayEnd(line, end))
		}
		return halfDayEnd(line, hour)
	}
	return 0
}

// clockEnd returns where hours, minutes and perhaps seconds end; zero if there are none.
func clockEnd(line string, i int) int {
	hour := digitsEnd(line, i)
	if n := hour - i; n < 1 || n > 2 || !has(line, hour, ':') {
		return 0
	}
	end := digitsEnd(line, hour+1)
	if end-hour != 3 {
		return 0
	}
	if second := digitsEnd(line, min(end+1, len(line))); has(line, end, ':') && second-end == 3 {
		end = second
		if has(line, end, '.') || has(line, end, ',') {
			if part := digitsEnd(line, end+1); part > end+1 {
				end = part
			}
		}
	}
	return end
}

// zoneEnd returns where a time zone ends, or where it could have begun.
func zoneEnd(line string, i int) int {
	if has(line, i, 'Z') || has(line, i, 'z') {
		return i + 1
	}
	at := afterSpace(line, i)
	if !has(line, at, '+') && !has(line, at, '-') {
		return i
	}
	hours := digitsEnd(line, at+1)
	switch hours - at - 1 {
	case 4:
		return hours
	case 2:
		if end := digitsEnd(line, min(hours+1, len(line))); has(line, hours, ':') && end-hours == 3 {
			return end
		}
	}
	return i
}

// halfDayEnd returns where am, pm, a.m. or p.m. ends; zero if there is none.
func halfDayEnd(line string, i int) int {
	at := afterSpace(line, i)
	if at >= len(line) || line[at]|0x20 != 'a' && line[at]|0x20 != 'p' {
		return 0
	}
	dotted := has(line, at+1, '.')
	if dotted {
		at++
	}
	if at+1 >= len(line) || line[at+1]|0x20 != 'm' || !endsWord(line, at+2) {
		return 0
	}
	if dotted && has(line, at+2, '.') {
		return at + 3
	}
	return at + 2
}

// dateEnd returns where a date ends that begins with a digit; zero if there is none.
func dateEnd(line string, i int) int {
	if end := numericDateEnd(line, i); end > 0 {
		return end
	}
	switch first := digitsEnd(line, i); first - i {
	case 4:
		return hanDateEnd(line, i)
	case 1, 2:
		return dayFirstEnd(line, first)
	}
	return 0
}

// numericDateEnd returns where a date of three numbers ends; zero if there is none.
func numericDateEnd(line string, i int) int {
	one := digitsEnd(line, i)
	if one == i || one >= len(line) {
		return 0
	}
	year := one-i == 4
	between := line[one]
	if one-i > 2 && !year || strings.IndexByte("-/.", between) < 0 {
		return 0
	}
	german := between == '.' && !year // 1. 3. 2026
	from := one + 1
	if german {
		from = afterSpace(line, from)
	}
	two := digitsEnd(line, from)
	if n := two - from; n < 1 || n > 2 || two >= len(line) || strings.IndexByte("-/.", line[two]) < 0 || german != (line[two] == '.' && !year) {
		return 0
	}
	if german {
		return yearEnd(line, afterSpace(line, two+1))
	}
	three := digitsEnd(line, two+1)
	n := three - two - 1
	if year && (n < 1 || n > 2) || !year && n != 2 && n != 4 || !endsWord(line, three) {
		return 0
	}
	return three
}

// yearEnd returns where a year of these centuries ends; zero if there is none.
func yearEnd(line string, i int) int {
	if end := digitsEnd(line, i); end-i == 4 && (line[i:i+2] == "19" || line[i:i+2] == "20") && endsWord(line, end) {
		return end
	}
	return 0
}

// hanDateEnd returns where a date such as 2026年3月1日 ends; zero if there is none.
func hanDateEnd(line string, i int) int {
	at := i
	for n, sign := range []string{"年", "月", "日"} {
		end := digitsEnd(line, at)
		if end == at || n > 0 && end-at > 2 || !strings.HasPrefix(line[end:], sign) {
			if n == 2 {
				return at
			}
			return 0
		}
		at = end + len(sign)
	}
	return at
}

// dayFirstEnd returns where a date ends whose day, the first of it, ends at a place: 1st
// of March 2026, 1. März 2026, 1 de marzo de 2026, 1 March. It is zero if there is none.
func dayFirstEnd(line string, i int) int {
	at := spaceEnd(line, ordinalEnd(line, i, true))
	if at == 0 {
		return 0
	}
	for _, of := range []string{"of ", "de ", "d'"} {
		if len(line)-at > len(of) && strings.EqualFold(line[at:at+len(of)], of) {
			at += len(of)
			break
		}
	}
	name := lettersEnd(line, at)
	if !nameLong(line[at:name]) {
		return 0
	}
	if year := spaceEnd(line, afterMark(line, afterMark(line, name, '.'), ',')); year > 0 {
		if len(line)-year > 3 && strings.EqualFold(line[year:year+3], "de ") {
			year += 3
		}
		if end := yearEnd(line, year); end > 0 {
			return end
		}
	}
	if endsWord(line, name) && classOf(line[at:name])&isMonth != 0 {
		return name
	}
	return 0
}

// namedDateEnd returns where a date ends that begins with a name: March 1st, 2026;
// March 1; Sunday. It is zero if there is none.
func namedDateEnd(line string, i, end int, says class) int {
	if at := spaceEnd(line, afterMark(line, end, '.')); at > 0 && isDigitAt(line, at) {
		day := digitsEnd(line, at)
		if n := day - at; n <= 2 && nameLong(line[i:end]) && lettersEnd(line, i) == end {
			day = ordinalEnd(line, day, false)
			if year := spaceEnd(line, afterMark(line, day, ',')); year > 0 {
				if stop := yearEnd(line, year); stop > 0 {
					return stop
				}
			}
			if says&isMonth != 0 && endsWord(line, day) {
				return day
			}
		}
	}
	if says&isDay != 0 {
		return end
	}
	return 0
}

// ordinalEnd returns where the ending of a number of a day ends: 1st, 2nd, or with a dot
// 1.; or where it could have begun.
func ordinalEnd(line string, i int, dot bool) int {
	if dot && has(line, i, '.') {
		return i + 1
	}
	if i+2 <= len(line) {
		switch strings.ToLower(line[i : i+2]) {
		case "st", "nd", "rd", "th":
			return i + 2
		}
	}
	return i
}

// afterMark returns the place after a mark, if it is there.
func afterMark(line string, i int, mark byte) int {
	if has(line, i, mark) {
		return i + 1
	}
	return i
}

// nameLong reports whether a word can be the name of a month: three to ten letters.
func nameLong(word string) bool {
	if len(word) < 3 || len(word) > 10*utf8.UTFMax {
		return false
	}
	n := utf8.RuneCountInString(word)
	return n >= 3 && n <= 10
}

// lettersEnd returns where the letters end that a line has at a place.
func lettersEnd(line string, i int) int {
	for i < len(line) {
		r, size := utf8.DecodeRuneInString(line[i:])
		if !unicode.IsLetter(r) {
			break
		}
		i += size
	}
	return i
}
