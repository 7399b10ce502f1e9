package noise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unclear is how long ago something was of which a text does not say it.
const unclear = -1

// ageEnd returns where the words end that say how long ago something was, in one of
// several languages; zero if there are none.
func ageEnd(line string, i int) int {
	end, _ := readAgeAt(line, i)
	return end
}

// ages are whole ages, with their seconds.
var ages = map[string]int{
	"just now": 0, "moments ago": 0, "gerade eben": 0, "today": 0, "heute": 0, "hoy": 0, "oggi": 0, "vandaag": 0,
	"yesterday": 86400, "gestern": 86400, "ayer": 86400, "ieri": 86400, "gisteren": 86400, "hier à": unclear,
	"ontem": 86400, "hoje": 0, "aujourd'hui": 0, "à l'instant": 0, "только что": 0, "сегодня": 0, "вчера": 86400, "сьогодні": 0, "вчора": 86400,
	"dzisiaj": 0, "dziś": 0, "wczoraj": 86400, "az önce": 0, "bugün": 0, "dün": 86400, "baru saja": 0, "hari ini": 0, "kemarin": 86400,
	"vừa xong": 0, "hôm nay": 0, "hôm qua": 86400, "الآن": 0, "اليوم": 0, "أمس": 86400, "امروز": 0, "دیروز": 86400,
}

var (
	wholeAges = func() lexicon {
		all := lexicon{}
		for phrase := range ages {
			end := wordEnd(phrase, 0)
			all[phrase[:end]] = append(all[phrase[:end]], phrase[end:])
		}
		return all
	}()

	nearly    = lexiconOf(`about over almost less_than more_than`) // stand before an age
	ageBefore = lexiconOf(`vor hace há il_y_a قبل منذ`)            // make what comes after them an age
	anyAfter  = lexiconOf(`temu назад тому sedan siden`)           // make what came before them an age, whatever the unit is called
	anyBefore = lexiconOf(`för for`)                               // stand before such an age
	ones      = lexiconOf(`a an one einem einer un una une uno uma um een bir`)
	ageAfter  = lexiconOf(`ago fa geleden atrás önce lalu yang_lalu trước پیش پہلے قبل temu назад тому sedan siden`, // likewise, of known units
		`zilizopita iliyopita yaliyopita ang_nakalipas ang_nakaraan da_suka_wuce da_suka_gabata`)

	// ageBeginnings are the words that an age can begin with.
	ageBeginnings = func() lexicon {
		all := lexicon{}
		for _, words := range []lexicon{wholeAges, nearly, ageBefore, anyBefore, ones, unitsBefore} {
			for word := range words {
				all[word] = []string{""}
			}
		}
		for word := range lonelyUnits {
			all[word] = []string{""}
		}
		return all
	}()
)

// readAgeAt returns where an age ends that begins at a place of a line, and how many
// seconds ago that is. The end is zero if there is none.
func readAgeAt(line string, i int) (end, seconds int) {
	if _, digits := countAt(line, i); digits > i {
		return amountAgo(line, i)
	}
	word := wordEnd(line, i)
	if end := wholeAges.at(line, i, word); end > 0 {
		return end, lookUp(ages, line[i:end])
	}
	for _, before := range []struct {
		words lexicon
		read  func(string, int) (int, int)
	}{{ageBefore, amountOf}, {nearly, amountAgo}, {anyBefore, looseAge}} {
		end := before.words.at(line, i, word)
		if at := spaceEnd(line, end); end > 0 && at > 0 {
			return before.read(line, at)
		}
	}
	return amountAgo(line, i)
}

// amountAgo reads an age that begins with how many units it is.
func amountAgo(line string, i int) (end, seconds int) {
	if end, seconds := fusedAge(line, i); end > 0 {
		return end, seconds
	}
	end, seconds = amountOf(line, i)
	if end > 0 {
		if more, also := amountOf(line, secondAmount(line, end)); more > 0 {
			end, seconds = more, seconds+also
		}
		if at := spaceEnd(line, end); at > 0 {
			if end := ageAfter.at(line, at, wordEnd(line, at)); end > 0 {
				return end, seconds
			}
		}
	}
	return looseAge(line, i)
}

// secondAmount returns where the second part of an age would begin, as in 1 hour and 5
// minutes ago.
func secondAmount(line string, i int) int {
	at := spaceEnd(line, afterMark(line, i, ','))
	if at == 0 {
		return len(line)
	}
	if len(line)-at > 4 && strings.EqualFold(line[at:at+4], "and ") {
		at += 4
	}
	if _, digits := countAt(line, at); digits == at {
		return len(line)
	}
	return at
}

// amountOf returns where a number of units ends, such as 3 hours, and how many seconds
// they are. The end is zero if there is none.
func amountOf(line string, i int) (end, seconds int) {
	count, at := countAt(line, i)
	if at > i {
		at = afterMark(line, at, '+')
	} else if at = wordEnd(line, i); at == i {
		return 0, 0
	} else if unit := lookUp(lonelyUnits, line[i:at]); unit > 0 {
		return at, unit
	} else if unitsBefore.has(line[i:at]) { // dakika 5
		number := afterSpace(line, at)
		count, end := countAt(line, number)
		if end == number {
			return 0, 0
		}
		return end, count * lookUp(ageUnits, line[i:at])
	} else if !ones.has(line[i:at]) {
		return 0, 0
	} else {
		count, at = 1, afterMark(line, at, '\'') // un'ora
	}
	at = afterSpace(line, at)
	end = lettersEnd(line, at)
	unit := lookUp(ageUnits, line[at:end])
	if unit == 0 || !endsWord(line, end) {
		return 0, 0
	}
	return end, count * unit
}

// looseAge reads an age of languages whose units are not known: 3 dni temu.
func looseAge(line string, i int) (end, seconds int) {
	at := spaceEnd(line, digitsEnd(line, i))
	if at == 0 || !isDigitAt(line, i) {
		return 0, 0
	}
	unit := lettersEnd(line, at)
	after := spaceEnd(line, unit)
	if unit == at || after == 0 {
		return 0, 0
	}
	if end = wordEnd(line, after); anyAfter.has(line[after:end]) {
		return end, unclear
	}
	return 0, 0
}

// countAt reads a number in the digits of any script, and returns where it ends: where it was to begin if there is none.
func countAt(line string, i int) (count, end int) {
	for end = i; end < len(line); {
		r, size := rune(line[end]), 1
		if r >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(line[end:]); !unicode.IsDigit(r) {
				break
			}
		} else if !isDigit(line[end]) {
			break
		}
		if count = count*10 + digitOf(r); count > 1e6 {
			count = 1e6
		}
		end += size
	}
	return count, end
}

// digitOf returns the value of a decimal digit: digits stand in blocks of ten from zero on.
func digitOf(r rune) int {
	if r < utf8.RuneSelf {
		return int(r - '0')
	}
	zero := r
	for range 9 {
		if !unicode.IsDigit(zero - 1) {
			break
		}
		zero--
	}
	return int(r - zero)
}

// fusedAge reads an age in a script without words, or with words of more than letters: 3小时前, 3 घंटे पहले.
func fusedAge(line string, i int) (end, seconds int) {
	count, digits := countAt(line, i)
	at := afterSpace(line, digits)
	if digits == i || at >= len(line) || line[at] < utf8.RuneSelf {
		return 0, 0
	}
	first, _ := utf8.DecodeRuneInString(line[at:])
	for _, f := range fused[first] {
		rest, ok := strings.CutPrefix(line[at:], f.unit)
		if !ok {
			continue
		}
		gap := afterSpace(rest, 0)
		for ago := range strings.SplitSeq(f.agos, "|") {
			if strings.HasPrefix(rest[gap:], ago) {
				return at + len(f.unit) + gap + len(ago), count * f.seconds
			}
		}
	}
	return 0, 0
}

// grownOlder reports whether one age follows from another by the mere passing of
// time. What has become younger has happened again.
func grownOlder(old, new string) bool {
	before, a := readAgeAt(old, 0)
	now, b := readAgeAt(new, 0)
	return before > 0 && now > 0 && a != unclear && b != unclear && b >= a
}
