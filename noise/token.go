package noise

import (
	"regexp"
	"strings"
	"unicode"
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

// tokens are what is looked for in lines, the longer before the shorter. The group
// that matches says which kind it is. Ages are slow to find, and are looked for only in
// lines with a word that ages have.
var (
	tokens   = regexp.MustCompile(tokenPattern(`\b\B`)) // which is nowhere
	andAges  = regexp.MustCompile(tokenPattern(agePattern))
	tokenNow = regexp.MustCompile(`^(?:` + tokenPattern(`\b\B`) + `)`)
	anyNow   = regexp.MustCompile(`^(?:` + tokenPattern(agePattern) + `)`)
)

func tokenPattern(age string) string {
	return `(?i)` + strings.Join([]string{
		`(?P<mail>[\w.+-]+@[\w-]+\.[\w.-]*\w|\[email[ \x{a0}]protected\])`,
		`(?P<time>\b\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|\s?[+-]\d\d:?\d\d)?|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b)`,
		`(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)`,
		`(?P<age>` + age + `)`,
		`(?P<date>\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/]\d{1,2}[-/](?:\d{4}|\d\d)\b|\b\d{1,2}\.\s?\d{1,2}\.\s?(?:19|20)\d\d\b` +
			`|\b\d{1,2}(?:st|nd|rd|th|\.)?\s(?:of\s|de\s|d')?\p{L}{3,10}\.?,?\s(?:de\s)?(?:19|20)\d\d\b` +
			`|\b\p{L}{3,10}\.?\s\d{1,2}(?:st|nd|rd|th)?,?\s(?:19|20)\d\d\b` +
			`|\b(?:` + monthNames + `)\.?\s\d{1,2}(?:st|nd|rd|th)?\b|\b\d{1,2}(?:st|nd|rd|th|\.)?\s(?:` + monthNames + `)\b` +
			`|(?:19|20)\d\d年\d{1,2}月(?:\d{1,2}日)?|\b(?:` + dayNames + `)\b)`,
		`(?P<money>(?:[$€£¥₹₽₩₺₴]|\b(?:usd|eur|gbp|chf|jpy|inr|aud|cad|sek|nok|dkk|pln|czk|huf))\s?\d[\d.,'’]*(?:\s?(?:k|m|bn|million|billion)\b)?|\d[\d.,'’]*\s?(?:[$€£¥₹₽₩₺₴]|(?:usd|eur|euros?|gbp|chf|jpy|inr|aud|cad|sek|nok|dkk|pln|zł|czk|kč|huf|kr|dollars?|cents?)\b))`,
		`(?P<release>\bv?\d+\.\d+\w*\.\w[\w.+-]*)`,
		`(?P<number>[+-]?\b\d+(?:[.,'’]\d+)*(?:\s?%|\b))`,
		`(?P<word>[\p{L}\p{N}_]+)`,
	}, "|")
}

const monthNames = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`

const dayNames = `mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|` +
	`montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|` +
	`lunes|martes|miércoles|jueves|viernes|sábado|domingo|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|` +
	`maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag`

// groups are the kinds by the group of the pattern, in its order.
var groups = []Kind{Mail, Time, ID, Age, Date, Money, Release, Number, Words}

// tokenize returns the tokens of a line that are more than words, in their order.
func tokenize(line string) (found []token) {
	pattern, now, aged := tokens, tokenNow, mayAge(line)
	switch {
	case aged:
		pattern, now = andAges, anyNow
	case !worthALook(line):
		return nil
	}
	for _, at := range scan(line, pattern, now, aged) {
		for g, kind := range groups {
			if at[2*g+2] < 0 {
				continue
			}
			t := token{kind: kind, from: at[0], to: at[1]}
			t.kind = t.closer(line)
			if t.kind != Words {
				found = append(found, t)
			}
			break
		}
	}
	return found
}

// worthALook reports whether there can be a token in a line. Most lines are words
// alone, and a pattern of all tokens is slow.
func worthALook(line string) bool {
	run := 0 // of letters
	for i := range len(line) {
		switch c := line[i]; {
		case c >= '0' && c <= '9', c == '@':
			return true
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			if run++; run == longWord {
				return true
			}
		default:
			run = 0
		}
	}
	return strings.Contains(line, "protected]")
}

// longWord is how many letters a word has that may be none.
const longWord = 16

// closer returns the kind of a token after a closer look at it and what is around it.
func (t token) closer(line string) Kind {
	text := line[t.from:t.to]
	switch t.kind {
	case Words:
		if looksLikeID(text) {
			if t.ofRelease(line) {
				return Release
			}
			return ID
		}
		if startsWithDigit(text) { // with a unit: 10km
			return numberKind(line, t)
		}
	case Release:
		if ipAddress.MatchString(text) && !t.ofRelease(line) {
			return ID
		}
	case Number:
		return numberKind(line, t)
	}
	return t.kind
}

var (
	ipAddress   = regexp.MustCompile(`^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$`)
	releaseWord = regexp.MustCompile(`(?i)(?:\b(?:version|release|ver|rev|revision|edition|patch)\b[^\p{L}\p{N}]*(?:\S+\s+){0,2}|\bv\.?\s?)$`)
	counterWord = regexp.MustCompile(`(?i)\b(?:views?|viewed|viewing|visits?|visited|visitors?|hits?|reads?|online|watching|downloads?|likes?|shares?|followers?|subscribers?|installs?|plays?|clicks?|impressions?|reviews?|ratings?|helpful|guests?|` +
		`page ?views?|counter|generated|rendered|loaded|load time|seconds?|secs?|ms|msec|milliseconds?|queries|latency|uptime|memory|` +
		`aufrufe|besucher|besuche|zugriffe|klicks|sekunden|abgerufen|vues?|visites?|visiteurs?|connectés?|secondes|visitas|visitantes|vistas|segundos|visualizzazioni|visite|visitatori|secondi|bezoekers|weergaven|keer bekeken|seconden|` +
		`wyświetleń|odsłon|zobrazení|ogledov|prikazov|pregleda|просмотров|просмотра|посетителей)\b`)
	timeUnit = regexp.MustCompile(`(?i)^\s?(?:days?|d|hours?|hrs?|h|minutes?|mins?|seconds?|secs?|s|tage?n?|stunden?|minuten?|jours?|heures?|días?|dias?|horas?|minutos?|giorni|giorno|ore|minuti|dagen|uur|minuten)\b`)
	sum      = regexp.MustCompile(`\d\s?[+×*x−–-]\s?\d+\s?(?:=|\?)`)
)

// ofRelease reports whether the words before a token say that it names a release.
func (t token) ofRelease(line string) bool {
	const near = 96 // bytes before a token that say what it is
	return releaseWord.MatchString(line[max(0, t.from-near):t.from])
}

// numberKind tells numbers that only count from those that say something.
func numberKind(line string, t token) Kind {
	const near = 32 // bytes around a number that say what it counts
	digits := strings.TrimLeft(line[t.from:t.to], "+-")
	switch {
	case len(digits) >= 8 && strings.Trim(digits, "0123456789") == "": // a moment in Unix time, or drawn by chance
		return ID
	case t.ofRelease(line):
		return Release
	case timeUnit.MatchString(line[t.to:]), isCounted(digits), counterWord.MatchString(line[max(0, t.from-near):min(len(line), t.to+near)]), strings.ContainsAny(line, "=?") && sum.MatchString(line):
		return Counter
	}
	return Number
}

// isCounted reports whether a number is one of hours and the like, as in 3h.
func isCounted(number string) bool {
	unit := strings.TrimLeft(number, "0123456789.,")
	return unit != "" && unit != number && unit != "m" && timeUnit.MatchString(unit)
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
	unit := startsWithDigit(word) && letters == tail && letters <= 3 // 10km, 2nd
	return letters > 0 && letters+digits >= 4 && !unit
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

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

// stampWord finds what pages write beside the moment at which they were made.
var stampWord = regexp.MustCompile(`(?i)\b(?:updated?|generated|modified|refreshed|retrieved|checked|rendered|cached|built|printed|as of|now|today|current(?:ly)?|time|timestamp|date|last|since|` +
	`stand|aktualisiert|zuletzt|heute|uhrzeit|datum|erstellt|mis à jour|mise à jour|maj|aujourd'hui|actualizado|hoy|fecha|aggiornat[oa]|oggi|bijgewerkt|vandaag|atualizado|hoje|обновлено|сегодня)(?:\b|:)`)

// stateWord finds what says a state that somebody may be waiting for.
var stateWord = regexp.MustCompile(`(?i)\b(?:status|state|in stock|out of stock|stock|sold|sold out|available|unavailable|availability|closed|operational|outages?|degraded|disruption|incidents?|resolved|investigating|` +
	`maintenance|offline|inactive|enabled|disabled|passed|passing|failed|failing|booked|cancel+ed|delayed|approved|pending|vacant|occupied|` +
	`auf lager|ausverkauft|verfügbar|lieferbar|geöffnet|geschlossen|gestört|störung|en stock|épuisé|disponible|indisponible|ouvert|fermé|agotado|abierto|cerrado|disponibile|esaurito|aperto|chiuso|op voorraad|uitverkocht)\b` +
	`|(?:^|[:|=]\s*"?)(?:yes|no|on|off|up|down|free|full|open|active|true|false|ja|nein|oui|non|offen)"?[.,!]?$`)

// saysState reports whether a line is short and says a state.
func saysState(line string) bool {
	const short = 80 // bytes; a long text may use any word
	return len(line) <= short && stateWord.MatchString(line)
}
