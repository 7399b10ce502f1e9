package noise

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// agePattern finds how long ago something was, in the words of several languages.
const agePattern = `\b(?:(?:about|over|almost|less than|more than)\s)?(?:an?|one|\d+)\+?\s?(?:` + ageUnits + `)(?:,?\s(?:and\s)?\d+\s?(?:` + ageUnits + `))?\sago\b` +
	`|\bjust now\b|\bmoments ago\b|\btoday\b|\bheute\b|\bhoy\b|\boggi\b|\bvandaag\b|\bayer\b|\bieri\b|\bgisteren\b|\byesterday\b|\bgerade eben\b|\bgestern\b|\bhier à\b` +
	`|\bvor\s(?:einem|einer|\d+)\s(?:` + ageUnits + `)\b|\bil y a\s(?:une?|\d+)\s(?:` + ageUnits + `)\b|\bhace\s(?:una?|\d+)\s(?:` + ageUnits + `)\b|\bhá\s(?:uma?|\d+)\s(?:` + ageUnits + `)\b` +
	`|\b(?:un[ao']?|\d+)\s?(?:` + ageUnits + `)\sfa\b|\b(?:een|\d+)\s(?:` + ageUnits + `)\sgeleden\b|\b\d+\s\p{L}+\s(?:temu|назад)\b|\b(?:för|for)\s\d+\s\p{L}+\s(?:sedan|siden)\b|\b\d+\s\p{L}+\s(?:sedan|siden)\b` +
	`|\d+\s?(?:秒|分钟|分鐘|分|小时|小時|時間|天|日)前`

// ageWords are words of which every age has one.
var ageWords = map[string]bool{
	"ago": true, "now": true, "yesterday": true, "today": true, "heute": true, "hoy": true, "oggi": true, "vandaag": true,
	"ayer": true, "ieri": true, "gisteren": true, "vor": true, "eben": true, "gestern": true, "hier": true, "il": true,
	"hace": true, "há": true, "fa": true, "geleden": true, "temu": true, "sedan": true, "siden": true,
}

// mayAge reports whether there can be an age in a line: it has one of those words.
func mayAge(line string) bool {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		if !isWordRune(r) {
			i += size
			continue
		}
		end := wordEnd(line, i)
		if word := line[i:end]; len(word) <= 9 && (ageWords[word] || ageWords[strings.ToLower(word)]) {
			return true
		}
		i = end
	}
	return strings.Contains(line, "前") || strings.Contains(strings.ToLower(line), "назад")
}

// ageUnits are the units that ages are counted in.
const ageUnits = `seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|yrs?|s|m|h|d|w|mo|y|` +
	`sekunden?|minuten?|stunden?|tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?|` +
	`secondes?|heures?|jours?|semaines?|mois|ans?|segundos?|minutos?|horas?|d[ií]as?|semanas?|mes(?:es)?|años?|m[eê]s|anos?|` +
	`second[io]|minut[io]|or[ae]|giorn[io]|settiman[ae]|mes[ei]|ann[io]|seconden|minuut|uur|uren|dag(?:en)?|week|weken|maand(?:en)?|jaar`

var agePart = regexp.MustCompile(`(\d+|\b(?:an?|one|einem|einer|une?|una|uma?|un|een)\b)\+?\s?(` + ageUnits + `)\b`)

// ageSeconds are how long a unit is, by how its name begins. Of two beginnings that
// fit, the one that stands first counts.
var ageSeconds = []struct {
	begins  string
	seconds int
}{
	{"mois", 2592000}, {"mon", 2592000}, {"mes", 2592000}, {"mês", 2592000}, {"maand", 2592000}, {"mo", 2592000}, {"m", 60},
	{"settiman", 604800}, {"semana", 604800}, {"semaine", 604800}, {"stunde", 3600}, {"s", 1}, {"h", 3600}, {"or", 3600}, {"u", 3600},
	{"d", 86400}, {"tag", 86400}, {"giorn", 86400}, {"jour", 86400}, {"w", 604800}, {"y", 31536000}, {"a", 31536000}, {"j", 31536000},
}

// readAge returns how many seconds ago something was, as far as the text says.
func readAge(text string) (seconds int, ok bool) {
	text = strings.ToLower(text)
	switch text {
	case "just now", "moments ago", "gerade eben", "today", "heute", "hoy", "oggi", "vandaag":
		return 0, true
	case "yesterday", "gestern", "ayer", "ieri", "gisteren":
		return 86400, true
	}
	for _, part := range agePart.FindAllStringSubmatch(text, -1) {
		n := 1
		if count, err := strconv.Atoi(part[1]); err == nil {
			n = min(count, 1e6)
		}
		seconds, ok = seconds+n*secondsOf(part[2]), true
	}
	return seconds, ok
}

// secondsOf returns how long a unit is.
func secondsOf(unit string) int {
	for _, u := range ageSeconds {
		if strings.HasPrefix(unit, u.begins) {
			return u.seconds
		}
	}
	return 0
}

// grownOlder reports whether one age follows from another by the mere passing of
// time. What has become younger has happened again.
func grownOlder(old, new string) bool {
	a, ok := readAge(old)
	b, too := readAge(new)
	return ok && too && b >= a
}
