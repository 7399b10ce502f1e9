package noise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A lexicon is a set of words and phrases, in small letters. By the first word it has
// what comes after it: nothing, or the rest of a phrase.
type lexicon map[string][]string

// lexiconOf returns the words of lists. In a list a space ends a word, and an underscore
// is a space within a phrase.
func lexiconOf(lists ...string) lexicon {
	l := lexicon{}
	for _, list := range lists {
		for _, phrase := range strings.Fields(list) {
			phrase = strings.ReplaceAll(phrase, "_", " ")
			end := wordEnd(phrase, 0)
			l[phrase[:end]] = append(l[phrase[:end]], phrase[end:])
		}
	}
	return l
}

// has reports whether a word stands in the lexicon by itself.
func (l lexicon) has(word string) bool {
	for _, rest := range l.after(word) {
		if rest == "" {
			return true
		}
	}
	return false
}

// after returns what may come after a word.
func (l lexicon) after(word string) []string { return lookUp(l, word) }

// lookUp returns what a map has for a word in small letters.
func lookUp[M ~map[string]V, V any](m M, word string) (none V) {
	var small [24]byte
	if len(word) > len(small) {
		return none
	}
	for i := range len(word) {
		c := word[i]
		if c >= utf8.RuneSelf {
			return m[strings.ToLower(word)]
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		small[i] = c
	}
	return m[string(small[:len(word)])]
}

// at returns where a word or phrase ends that begins with a word of a text; zero if
// there is none.
func (l lexicon) at(text string, from, to int) (end int) {
	for _, rest := range l.after(text[from:to]) {
		stop := to + len(rest)
		if stop <= len(text) && strings.EqualFold(text[to:stop], rest) && endsWord(text, stop) {
			end = max(end, stop)
		}
	}
	return end
}

// in reports whether a text has one of the words or phrases.
func (l lexicon) in(text string) bool {
	for i := 0; i < len(text); {
		end := wordEnd(text, i)
		if end == i {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		if l.at(text, i, end) > 0 {
			return true
		}
		i = end
	}
	return false
}

var (
	monthNames = lexiconOf(`jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov november dec december`)

	dayNames = lexiconOf(`mon monday tue tues tuesday wed wednesday thu thurs thursday fri friday sat saturday sun sunday`,
		`montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche`,
		`lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato domenica`,
		`maandag dinsdag woensdag donderdag vrijdag zaterdag zondag`)

	// currencies stand before a price, the others only after it.
	currencies      = lexiconOf(`usd eur gbp chf jpy inr aud cad sek nok dkk pln czk huf`)
	currenciesAfter = lexiconOf(`usd eur euro euros gbp chf jpy inr aud cad sek nok dkk pln zł czk kč huf kr dollar dollars cent cents`)
	multiples       = lexiconOf(`k m bn million billion`)

	releaseWords = lexiconOf(`version release ver rev revision edition patch`)

	// counterWords say that a number only counts.
	counterWords = lexiconOf(`view views viewed viewing visit visits visited visitor visitors hit hits read reads online watching download downloads like likes share shares`,
		`follower followers subscriber subscribers install installs play plays click clicks impression impressions review reviews rating ratings helpful guest guests`,
		`pageview pageviews counter generated rendered loaded load_time second seconds sec secs ms msec millisecond milliseconds queries latency uptime memory`,
		`aufrufe besucher besuche zugriffe klicks sekunden abgerufen vue vues visite visites visiteur visiteurs connecté connectés secondes visitas visitantes vistas segundos`,
		`visualizzazioni visitatori secondi bezoekers weergaven keer_bekeken seconden wyświetleń odsłon zobrazení ogledov prikazov pregleda просмотров просмотра посетителей`)

	// timeUnits after a number make it a length of time.
	timeUnits = lexiconOf(`day days d hour hours hr hrs h minute minutes min mins second seconds sec secs s tag tage tagen stunde stunden minuten jour jours heure heures`,
		`día días dia dias hora horas minuto minutos giorni giorno ore minuti dagen uur`)

	// stampWords are what pages write beside the moment at which they were made.
	stampWords = lexiconOf(`update updated generated modified refreshed retrieved checked rendered cached built printed as_of now today current currently time timestamp date last since`,
		`stand aktualisiert zuletzt heute uhrzeit datum erstellt mis_à_jour mise_à_jour maj aujourd'hui actualizado hoy fecha aggiornato aggiornata oggi bijgewerkt vandaag`,
		`atualizado hoje обновлено сегодня`)

	// stateWords say a state that a user may be waiting for, and answers say one at the end of a
	// line.
	stateWords = lexiconOf(`status state stock sold available unavailable availability closed operational outage outages degraded disruption incident incidents resolved investigating`,
		`maintenance offline inactive enabled disabled passed passing failed failing booked canceled cancelled delayed approved pending vacant occupied`,
		`auf_lager ausverkauft verfügbar lieferbar geöffnet geschlossen gestört störung épuisé disponible indisponible ouvert fermé agotado abierto cerrado`,
		`disponibile esaurito aperto chiuso op_voorraad uitverkocht`)
	answers = lexiconOf(`yes no on off up down free full open active true false ja nein oui non offen`)
)

// saysState reports whether a line is short and says a state.
func saysState(line string) bool {
	const short = 80 // bytes; a long text may use any word
	return len(line) <= short && (stateWords.in(line) || answersLast(line))
}

// answersLast reports whether a line is an answer, or ends with one after a colon or
// the like.
func answersLast(line string) bool {
	if line != "" && strings.IndexByte(".,!", line[len(line)-1]) >= 0 {
		line = line[:len(line)-1]
	}
	line = strings.TrimSuffix(line, `"`)
	from := len(line)
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(line[:from])
		if !isWordRune(r) {
			break
		}
		from -= size
	}
	before := strings.TrimRightFunc(strings.TrimSuffix(line[:from], `"`), unicode.IsSpace)
	return answers.has(line[from:]) && (before == "" || strings.IndexByte(":|=", before[len(before)-1]) >= 0)
}

// wordEnd returns where the word ends that a text has at a place: that place, if there
// is none.
func wordEnd(text string, i int) int {
	for i < len(text) {
		if c := text[i]; c < utf8.RuneSelf {
			if !asciiWord[c] {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isWordRune(r) {
			break
		}
		i += size
	}
	return i
}

// endsWord reports whether what ends at a place of a text is not the beginning of a
// longer word.
func endsWord(text string, i int) bool {
	r, size := utf8.DecodeRuneInString(text[i:])
	return size == 0 || !isWordRune(r)
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// asciiWord are the bytes of words, of those that are letters by themselves.
var asciiWord = func() (is [utf8.RuneSelf]bool) {
	for c := range is {
		is[c] = isWordRune(rune(c))
	}
	return is
}()
