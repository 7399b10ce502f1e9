package noise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
