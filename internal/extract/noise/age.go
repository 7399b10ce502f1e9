package noise

import (
	"strconv"
	"strings"
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
}

var (
	wholeAges = lexiconOf(`just_now moments_ago gerade_eben today heute hoy oggi vandaag yesterday gestern ayer ieri gisteren hier_à`)

	nearly    = lexiconOf(`about over almost less_than more_than`) // stand before an age
	ageBefore = lexiconOf(`vor hace há il_y_a`)                    // make what comes after them an age
	ageAfter  = lexiconOf(`ago fa geleden`)                        // make what came before them an age
	anyAfter  = lexiconOf(`temu назад sedan siden`)                // likewise, whatever the unit is called
	anyBefore = lexiconOf(`för for`)                               // stand before such an age
	ones      = lexiconOf(`a an one einem einer un una une uno uma um een`)

	// ageBeginnings are the words that an age can begin with.
	ageBeginnings = func() lexicon {
		all := lexicon{}
		for _, words := range []lexicon{wholeAges, nearly, ageBefore, anyBefore, ones} {
			for word := range words {
				all[word] = []string{""}
			}
		}
		return all
	}()
)

// readAgeAt returns where an age ends that begins at a place of a line, and how many
// seconds ago that is. The end is zero if there is none.
func readAgeAt(line string, i int) (end, seconds int) {
	if isDigitAt(line, i) {
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
	if end, seconds := looseAge(line, i); end > 0 {
		return end, seconds
	}
	if end, seconds := hanAge(line, i); end > 0 {
		return end, seconds
	}
	end, seconds = amountOf(line, i)
	if end == 0 {
		return 0, 0
	}
	if more, also := amountOf(line, secondAmount(line, end)); more > 0 {
		end, seconds = more, seconds+also
	}
	at := spaceEnd(line, end)
	if at == 0 || !ageAfter.has(line[at:wordEnd(line, at)]) {
		return 0, 0
	}
	return wordEnd(line, at), seconds
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
	if !isDigitAt(line, at) {
		return len(line)
	}
	return at
}

// amountOf returns where a number of units ends, such as 3 hours, and how many seconds
// they are. The end is zero if there is none.
func amountOf(line string, i int) (end, seconds int) {
	count, at := 1, digitsEnd(line, i)
	if at > i {
		n, err := strconv.Atoi(line[i:at])
		if err != nil || n > 1e6 {
			n = 1e6
		}
		count, at = n, afterMark(line, at, '+')
	} else if at = wordEnd(line, i); at == i || !ones.has(line[i:at]) {
		return 0, 0
	} else {
		at = afterMark(line, at, '\'') // un'ora
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

// hanUnits are the units of ages such as 3小时前, the longer before the shorter.
var hanUnits = []struct {
	name    string
	seconds int
}{{"分钟前", 60}, {"分鐘前", 60}, {"小时前", 3600}, {"小時前", 3600}, {"時間前", 3600}, {"秒前", 1}, {"分前", 60}, {"天前", 86400}, {"日前", 86400}}

func hanAge(line string, i int) (end, seconds int) {
	digits := digitsEnd(line, i)
	at := afterSpace(line, digits)
	if digits == i || at >= len(line) || line[at] < 0x80 {
		return 0, 0
	}
	for _, u := range hanUnits {
		if strings.HasPrefix(line[at:], u.name) {
			n, err := strconv.Atoi(line[i:digits])
			if err != nil || n > 1e6 {
				n = 1e6
			}
			return at + len(u.name), n * u.seconds
		}
	}
	return 0, 0
}

// ageUnits are the units that ages are counted in, with their seconds.
var ageUnits = func() map[string]int {
	all := map[string]int{}
	for seconds, words := range map[int]string{
		1:     `second seconds sec secs s sekunde sekunden seconde secondes segundo segundos secondi secondo seconden`,
		60:    `minute minutes min mins m minuten minuto minutos minuti minuut`,
		3600:  `hour hours hr hrs h stunde stunden heure heures hora horas ora ore uur uren`,
		86400: `day days d tag tagen jour jours día días dia dias giorni giorno dag dagen`,

		7 * 86400:   `week weeks w woche wochen semaine semaines semana semanas settimana settimane weken`,
		30 * 86400:  `month months mo monat monaten mois mes meses mês mese mesi maand maanden`,
		365 * 86400: `year years yr yrs y jahr jahren an ans año años ano anos anno anni jaar`,
	} {
		for _, word := range strings.Fields(words) {
			all[word] = seconds
		}
	}
	return all
}()

// grownOlder reports whether one age follows from another by the mere passing of
// time. What has become younger has happened again.
func grownOlder(old, new string) bool {
	before, a := readAgeAt(old, 0)
	now, b := readAgeAt(new, 0)
	return before > 0 && now > 0 && a != unclear && b != unclear && b >= a
}
