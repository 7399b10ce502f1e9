package noise

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A pattern of all tokens is slow to search with: it has thousands of branches, and
// most of a page is words. So a line is gone through by hand, and the pattern is only
// asked what begins at a place where more than a word can begin.

// reach is how far a token may go. One that goes farther is looked for in the whole
// line.
const reach = 200

// scan returns where the tokens of a line are, as the pattern finds them in it.
// The other pattern is the same, but for a beginning.
func scan(line string, pattern, anchored *regexp.Regexp, everyWord bool) (found [][]int) {
	mails := strings.Contains(line, "@") || strings.Contains(line, "protected]")
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		letter := isWordRune(r)
		if i > 0 && isASCIIWord(line[i-1]) && letter { // no place where a token begins, but for some
			return pattern.FindAllStringSubmatchIndex(line, -1)
		}
		end := i
		if letter {
			end = wordEnd(line, i)
		}
		if !letter && !beginsToken(line, i, r, mails) {
			i += size
			continue
		}
		if letter && !everyWord && !mails && plainWord(line, i, end) {
			at := make([]int, 2*len(groups)+2)
			for k := range at {
				at[k] = -1
			}
			at[0], at[1], at[2*len(groups)], at[2*len(groups)+1] = i, end, i, end
			found = append(found, at)
			i = end
			continue
		}
		stop := min(len(line), max(end, i+reach))
		for stop < len(line) && !utf8.RuneStart(line[stop]) {
			stop++
		}
		at := anchored.FindStringSubmatchIndex(line[i:stop])
		switch {
		case at == nil || at[1] == 0:
			i += size
			continue
		case stop < len(line) && i+at[1]+16 > stop:
			return pattern.FindAllStringSubmatchIndex(line, -1)
		}
		for k := range at {
			if at[k] >= 0 {
				at[k] += i
			}
		}
		found = append(found, at)
		i = at[1]
	}
	return found
}

// beginsToken reports whether a token can begin with what is neither letter nor digit.
func beginsToken(line string, i int, r rune, mails bool) bool {
	switch {
	case r == '+' || r == '-':
		return mails || i+1 < len(line) && isDigit(line[i+1])
	case r == '.' || r == '[':
		return mails
	}
	return strings.ContainsRune("$€£¥₹₽₩₺₴", r)
}

// plainWord reports whether nothing but a word can begin at a place: it has no digits,
// no number follows it, and it is no name of a month or day.
func plainWord(line string, from, to int) bool {
	word := line[from:to]
	for i, r := range word {
		switch {
		case r == 'ſ' || r == '\u212a': // which the pattern takes for s and k
			return false
		case r >= utf8.RuneSelf && !unicode.IsLetter(r), r < utf8.RuneSelf && !isASCIILetter(byte(r)):
			return false
		case r >= utf8.RuneSelf && isMonthOrDay(word[:i]): // where a word ends for the pattern
			return false
		}
	}
	if isMonthOrDay(word) {
		return false
	}
	for i := to; i < len(line) && i < to+4; i++ {
		if isDigit(line[i]) {
			return false
		}
	}
	return !(to < len(line) && line[to] == '-' && len(word) == 8)
}

func isMonthOrDay(word string) bool {
	return len(word) <= 12 && (monthOrDay[word] || monthOrDay[strings.ToLower(word)])
}

// monthOrDay has the names that are dates by themselves, or begin one.
var monthOrDay = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Split(dayNames+"|"+monthNames, "|") {
		stem, rest, _ := strings.Cut(name, "(?:")
		all[stem] = true
		for _, end := range strings.Split(strings.TrimSuffix(rest, ")?"), "|") {
			all[stem+end] = true
		}
	}
	for _, name := range []string{"jun", "june", "jul", "july", "sep", "sept", "september", "tues", "tuesday", "thurs", "thursday"} {
		all[name] = true
	}
	return all
}()

func wordEnd(line string, i int) int {
	for i < len(line) {
		r, size := utf8.DecodeRuneInString(line[i:])
		if !isWordRune(r) {
			break
		}
		i += size
	}
	return i
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

func isASCIIWord(c byte) bool { return c == '_' || isDigit(c) || isASCIILetter(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isASCIILetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
