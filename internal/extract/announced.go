package extract

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"freshet/internal/dates"
	"freshet/internal/freshet/evidence"
	"freshet/internal/lazyregexp"
	"freshet/internal/units"
)

// How much of a text is read to find out when it says that its page changes next. The author of a
// page decides how long that takes, so it is bounded.
const (
	mostAnnounced = 128 << 10 // bytes of a text
	mostHints     = 64        // places at which it may say so in one way
	announcedTail = 110       // bytes of it behind such a place
	announcedHead = 60        // and before
)

// Announced returns when a text that was read at a moment says that its page changes next:
// "Next update: 14:00 CET", "updated daily at 06:30", "refreshes every 15 minutes",
// "auction ends in 3 h", in English, German, French and Spanish. Of several it is the
// soonest. A time that names no zone is one of the zone that is given; if that is nil it is
// taken for one of UTC, and says so: then it may have passed there, and lie ahead elsewhere.
//
// It is what the text says. Nobody knows whether that is true.
func Announced(text []byte, now time.Time, zone *time.Location) (next evidence.Next, ok bool) {
	text = text[:min(len(text), mostAnnounced)]
	f := announcementReader{text: text, now: now, zone: zone}
	finder := stems()
	hints := make([]int, len(announcements)) // places looked at, by way
	for at, stem := finder.next(text, 0); at >= 0; at, stem = finder.next(text, at+1) {
		if f.low == nil {
			f.low = lowered(text) // few texts get here
		}
		w := finder.ways[stem]
		if hints[w]++; hints[w] > mostHints {
			continue
		}
		begin, end := f.around(at, at+len(finder.stems[stem]))
		if announcements[w].read(&f, at, begin, end) && f.liesAhead() && (!ok || f.next.At.Before(next.At)) {
			next, ok = f.next, true
		}
	}
	return next, ok
}

// AnnouncedBy returns when the next change comes by a value that says so: a date, a time of
// day, or how long it takes.
func AnnouncedBy(value string, now time.Time, zone *time.Location) (next evidence.Next, ok bool) {
	value = strings.TrimSpace(value[:min(len(value), announcedTail)])
	if d, ok := dates.Epoch([]byte(value)); ok {
		at := d.Time.Truncate(time.Second)
		return evidence.Next{By: evidence.NextByField, At: at}, at.After(now)
	}
	f := announcementReader{text: []byte(value), low: lowered([]byte(value)), now: now, zone: zone}
	if !f.when(0, len(f.low), true) || !f.liesAhead() {
		return next, false
	}
	f.next.By = evidence.NextByField
	return f.next, true
}

// A announcementReader looks for such words in a text.
type announcementReader struct {
	text, low []byte // the same, byte for byte, in small letters
	now       time.Time
	zone      *time.Location
	next      evidence.Next
}

// A way to foretell is words by which a text does so, and how to go on from them.
type way struct {
	stems []string
	read  func(f *announcementReader, at, begin, end int) bool
}

var announcements = []way{
	{[]string{"next ", "nächst", "naechst", "prochain", "próxim", "proxim"}, (*announcementReader).readNext},
	{[]string{"will be updated", "will next be updated", "wird aktualisiert", "sera mis", "se actualizará"}, (*announcementReader).readWill},
	{[]string{"ends ", "ends:", "closes ", "endet ", "termine ", "termina ", "finaliza ", "time left", "restzeit", "temps restant", "tiempo restante"}, (*announcementReader).readEnds},
	{[]string{"update", "refresh", "aktualisier", "à jour", "actualis", "actualiz"}, (*announcementReader).readEvery},
}

// liesAhead reports whether what was read lies ahead, in some zone if none is named.
func (f *announcementReader) liesAhead() bool {
	const westernmost = 12 * time.Hour
	if f.next.Zoneless {
		return f.next.At.After(f.now.Add(-westernmost))
	}
	return f.next.At.After(f.now)
}

// around returns the part of the text around a place: of its own line what stands before,
// and behind it up to two lines, since a value often has one of its own.
func (f *announcementReader) around(at, end int) (from, to int) {
	from = max(0, at-announcedHead)
	if i := bytes.LastIndexByte(f.low[from:at], '\n'); i >= 0 {
		from += i + 1
	}
	to = min(len(f.low), end+announcedTail)
	lines := 0
	for i := end; i < to; i++ {
		if f.low[i] == '\n' {
			if lines++; lines > 1 {
				to = i
			}
		}
	}
	return from, to
}

// lowered returns a text in small letters, byte for byte: those of the languages that are
// read.
func lowered(text []byte) []byte {
	low := bytes.Clone(text)
	for i, c := range low {
		switch {
		case c >= 'A' && c <= 'Z':
			low[i] = c + 'a' - 'A'
		case i > 0 && low[i-1] == 0xc3 && c >= 0x80 && c <= 0x9e && c != 0x97:
			low[i] = c + 0x20
		}
	}
	return low
}

const things = `(?:updates?|refresh(?:es)?|releases?|issues?|editions?|reports?|bulletins?|publications?|forecasts?|revisions?|draws?|drawing|aktualisierung|ausgabe|bericht|meldung|veröffentlichung|ziehung|mises? à jour|actualisation|édition|publication|tirage|actualizaci[oó]n|edici[oó]n|bolet[ií]n|publicaci[oó]n|sorteo)`

var (
	nextThing = lazyregexp.New(`^(?:next|nächste[rsn]?|naechste[rsn]?|prochaine?s?|pr[oó]xim[ao]s?)\s+(?:[\pL-]+\s+){0,2}?` + things + `(?:[^\pL]|$)`)
	willThing = lazyregexp.New(`^(?:will be updated|will next be updated|wird aktualisiert|sera mise? à jour|se actualizará)(?:[^\pL]|$)`)
	sold      = lazyregexp.New(`(?:auction|bidding|sale|offer|listing|deal|lot|auktion|angebot|gebot|enchère|vente|offre|subasta|oferta|puja)s?\s+(?:[\pL-]+\s+){0,2}$`)
	every     = lazyregexp.New(`(?:^|[^\pL])(?:every|each|alle|jede[nrs]?|toutes les|tous les|chaque|cada)\s+(?:(\d{1,3})\s*)?(\pL+)`)
	daily     = lazyregexp.New(`(?:^|[^\pL])(?:daily|every day|each day|täglich|taeglich|quotidiennement|chaque jour|tous les jours|diariamente|cada d[ií]a|todos los d[ií]as|(?:every|each|jeden|chaque|tous les|cada|todos los)\s+(\pL{3,10}))(?:[^\pL]|$)`)
	lead      = lazyregexp.New(`^[^\d\pL]{0,6}(?:(?:is |are |due |expected |noch |left )*(in|dans|en|within|left|remaining|noch)[^\d\pL]{1,3})?(?:about |approx\. |ca\. |etwa |environ )?`)
	length    = lazyregexp.New(`^[\s,]{0,3}(?:and |und |et |y )?(\d{1,4})\s*(\pL+)\.?`)
	dayHour   = lazyregexp.New(`(?:^|[^\d:.,/-])(\d{1,2})([:.h])([0-5]\d)(?::([0-5]\d))?(?:[.,]\d+)?\s*(?:([ap])\.?m\b\.?)?\s*(uhr\b|h\b|hrs?\b|horas\b|heures\b)?`)
	bareHour  = lazyregexp.New(`(?:^|[^\d:.,/-])(\d{1,2})\s*(?:([ap])\.?m\b|uhr\b|h\b|heures?\b|horas\b|o'clock)`)
	zoneName  = lazyregexp.New(`^[\s(]{0,3}(Z\b|[A-Z]{3,4}\b)?\s?([+-]\d{1,2}(?::?\d{2})?\b)?`)
	dayWord   = lazyregexp.New(`(?:^|[^\pL])(today|heute|aujourd'hui|hoy|tomorrow|morgen|demain|mañana|\pL{3,10})(?:[^\pL]|$)`)
)

// unitLengths are the names of lengths of time in the languages that are read.
var unitLengths = func() map[string]time.Duration {
	all := map[string]time.Duration{}
	for unit, names := range map[time.Duration]string{
		time.Second: "s sec secs second seconds sekunde sekunden sek seconde secondes segundo segundos",
		time.Minute: "m min mins minute minutes minuten minuto minutos", time.Hour: "h hr hrs hour hours std stunde stunden heure heures hora horas",
		units.Day: "d day days tag tage tagen jour jours día días dia dias", 7 * units.Day: "w week weeks woche wochen semaine semaines semana semanas",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = unit
		}
	}
	return all
}()

// weekdays are the names of the days in the languages that are read.
var weekdays = func() map[string]time.Weekday {
	all := map[string]time.Weekday{}
	for day, names := range []string{
		"sunday sundays sun sonntag dimanche dimanches domingo domingos", "monday mondays mon montag lundi lundis lunes", "tuesday tuesdays tue dienstag mardi mardis martes",
		"wednesday wednesdays wed mittwoch mercredi mercredis miércoles miercoles", "thursday thursdays thu donnerstag jeudi jeudis jueves",
		"friday fridays fri freitag vendredi vendredis viernes", "saturday saturdays sat samstag sonnabend samedi samedis sábado sabado sábados sabados",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = time.Weekday(day)
		}
	}
	return all
}()

// readNext reads "next update: 14:00".
func (f *announcementReader) readNext(at, _, end int) bool {
	m := nextThing.FindIndex(f.low[at:end])
	return m != nil && f.when(at+m[1]-1, end, false)
}

// readWill reads "will be updated at 14:00".
func (f *announcementReader) readWill(at, _, end int) bool {
	m := willThing.FindIndex(f.low[at:end])
	return m != nil && f.when(at+m[1]-1, end, false)
}

// readEnds reads "auction ends in 3 h" and "time left: 2d 4h".
func (f *announcementReader) readEnds(at, begin, end int) bool {
	left := bytes.HasPrefix(f.low[at:], []byte("time left")) || !bytes.ContainsAny(f.low[at:min(end, at+9)], " :")
	for _, stem := range []string{"restzeit", "temps restant", "tiempo restante"} {
		left = left || bytes.HasPrefix(f.low[at:], []byte(stem))
	}
	if !left && !sold.Match(f.low[begin:at]) {
		return false
	}
	for at < end && f.low[at] != '\n' && (f.low[at] >= 'a' && f.low[at] <= 'z' || f.low[at] == ' ' && left) {
		at++
	}
	return f.when(at, end, true)
}

// readEvery reads "updated daily at 06:30", "every Monday at 9:00" and "every 15 minutes".
func (f *announcementReader) readEvery(at, begin, end int) bool {
	if i := bytes.IndexByte(f.low[at:end], '\n'); i >= 0 {
		end = at + i
	}
	near := f.low[begin:end]
	if m := daily.FindSubmatchIndex(near); m != nil {
		day, named := time.Weekday(-1), false
		if m[2] >= 0 {
			day, named = weekdays[string(near[m[2]:m[3]])]
		}
		if (m[2] < 0 || named) && f.when(begin+m[1]-1, end, false) && f.next.Every == 0 && (f.next.Dayless || named) {
			f.next.Every = units.Day
			if named {
				f.onDay(day)
				f.next.Every = 7 * units.Day
			}
			f.next.Dayless = !named
			return true
		}
	}
	m := every.FindSubmatchIndex(near)
	if m == nil {
		return false
	}
	n := 1
	if m[2] >= 0 {
		n, _ = strconv.Atoi(string(near[m[2]:m[3]]))
	}
	d := time.Duration(n) * unitLengths[string(near[m[4]:m[5]])]
	if m[2] < 0 && d >= units.Day || d < 10*time.Second || d > 31*units.Day { // "every day" says nothing of when
		return false
	}
	f.next = evidence.Next{By: evidence.NextByText, At: f.now.Add(d), Every: d}
	return true
}

// Bounds of what is taken for the time of an announced change: how far ahead it may lie, and by how much a
// time of day may have passed without being that of tomorrow.
const (
	furthest = 400 * units.Day
	overdue  = 30 * time.Minute
)

// when reads the moment that stands at the beginning of a part of the text, behind a few
// other words. A length of time may stand there without a word such as "in" if it is bare.
func (f *announcementReader) when(from, to int, bare bool) bool {
	low := f.low[from:to]
	if f.lasts(low, bare) {
		return true
	}
	const lead = 45 // bytes that may stand before it
	day, end, dated := f.day(low)
	if dated && end > lead+20 {
		return false
	}
	hour, minute, second, zone, at, timed := f.hour(from+end, to)
	switch {
	case !dated && (!timed || at-from > lead):
		return false
	case timed && dated && at-from-end > lead:
		timed, zone = false, f.zone
	}
	if !timed {
		hour, minute, second = 0, 0, 0
	}
	f.next = evidence.Next{By: evidence.NextByText, Zoneless: zone == nil}
	if zone == nil {
		zone = time.UTC
	}
	if dated {
		f.next.At = time.Date(day.Year(), day.Month(), day.Day(), hour, minute, second, 0, zone).UTC()
		return f.next.At.Sub(f.now) < furthest
	}
	today := f.now.In(zone)
	on := func(days int) time.Time {
		return time.Date(today.Year(), today.Month(), today.Day()+days, hour, minute, second, 0, zone).UTC()
	}
	switch word, weekday, known := f.dayWord(low[:min(len(low), at-from)]); {
	case known:
		f.next.At = on(0)
		f.onDay(weekday)
	case word == "tomorrow":
		f.next.At = on(1)
	case word == "today":
		f.next.At = on(0)
	default:
		f.next.Dayless = true
		passed := f.now.Add(-overdue)
		if f.next.Zoneless { // the local time there is not known
			passed = f.now
		}
		if f.next.At = on(0); !f.next.At.After(passed) {
			f.next.At = on(1)
		}
	}
	return true
}

// onDay moves what was read to the next such day of the week.
func (f *announcementReader) onDay(day time.Weekday) {
	zone := f.zone
	if zone == nil {
		zone = time.UTC
	}
	at := f.next.At.In(zone)
	for range 8 {
		if at.Weekday() == day && !at.Before(f.now.Add(-overdue)) {
			break
		}
		at = at.AddDate(0, 0, 1)
	}
	f.next.At, f.next.Dayless = at.UTC(), false
}

// dayWord returns what day is named in a text: the word for today or tomorrow in English,
// or a day of the week.
func (f *announcementReader) dayWord(low []byte) (word string, weekday time.Weekday, known bool) {
	for _, m := range dayWord.FindAllSubmatch(low, 12) {
		switch word := string(m[1]); word {
		case "today", "heute", "aujourd'hui", "hoy":
			return "today", 0, false
		case "tomorrow", "morgen", "demain", "mañana":
			return "tomorrow", 0, false
		default:
			if weekday, known = weekdays[word]; known {
				return word, weekday, true
			}
		}
	}
	return "", 0, false
}

// lasts reads a length of time: "in 2 h 15 min".
func (f *announcementReader) lasts(low []byte, bare bool) bool {
	m := lead.FindSubmatchIndex(low)
	if m == nil {
		return false
	}
	in := m[2] >= 0
	sum, rest := time.Duration(0), low[m[1]:]
	for range 4 {
		part := length.FindSubmatch(rest)
		if part == nil {
			break
		}
		unit := unitLengths[string(part[2])]
		if unit == 0 || sum == 0 && !in && !bare && string(part[2]) == "h" { // 14h is a time of day
			break
		}
		n, _ := strconv.Atoi(string(part[1]))
		sum, rest = sum+time.Duration(n)*unit, rest[len(part[0]):]
	}
	if sum <= 0 || sum >= furthest {
		return false
	}
	f.next = evidence.Next{By: evidence.NextByText, At: f.now.Add(sum)}
	return true
}

// day returns the first date in a text, and where it ends.
func (f *announcementReader) day(low []byte) (day time.Time, end int, ok bool) {
	if !bytes.ContainsAny(low, "0123456789") {
		return day, 0, false
	}
	text := strings.ReplaceAll(string(low), "\n", " ")
	day, end, err := dates.FindDay(text, "")
	if err != nil || end > len(low) {
		return day, 0, false
	}
	return day, end, true
}

// hour returns the first time of day in a part of the text with its zone, which is nil if
// none is known, and where it begins.
func (f *announcementReader) hour(from, to int) (hour, minute, second int, zone *time.Location, at int, ok bool) {
	low := f.low[from:to]
	m := dayHour.FindSubmatchIndex(low)
	half, end := byte(0), 0
	number := func(i int) int {
		if m[i] < 0 {
			return 0
		}
		n, _ := strconv.Atoi(string(low[m[i]:m[i+1]]))
		return n
	}
	if m != nil {
		hour, minute, second, at, end = number(2), number(6), number(8), m[2], m[1]
		if m[10] >= 0 {
			half = low[m[10]]
		}
		if low[m[4]] == '.' && half == 0 && m[12] < 0 { // 14.30 alone can be any number
			m = nil
		}
	}
	if short := bareHour.FindSubmatchIndex(low); short != nil && (m == nil || short[2] < at) {
		m = short
		hour, minute, second, at, end, half = number(2), 0, 0, m[2], m[1], 0
		if m[4] >= 0 {
			half = low[m[4]]
		}
	}
	if m == nil || hour > 24 || half != 0 && (hour == 0 || hour > 12) {
		return 0, 0, 0, f.zone, 0, false
	}
	switch half {
	case 'p':
		hour = hour%12 + 12
	case 'a':
		hour %= 12
	}
	return hour, minute, second, f.zoneAt(from+end, to), from + at, true
}

// zoneAt returns the time zone that is named at a place, or else the one that is known.
func (f *announcementReader) zoneAt(from, to int) *time.Location {
	m := zoneName.FindSubmatch(f.text[from:to])
	if m == nil {
		return f.zone
	}
	name, offset := strings.ToUpper(string(m[1])), string(m[2])
	seconds, known := dates.Offset(name)
	if offset == "" {
		if !known {
			return f.zone
		}
		return time.FixedZone(name, seconds)
	}
	if name != "" && seconds != 0 { // only UTC+2 and the like
		return f.zone
	}
	digits := strings.ReplaceAll(offset[1:], ":", "")
	if len(digits) < 3 {
		digits += "00"
	}
	n, _ := strconv.Atoi(digits)
	seconds = n/100*3600 + n%100*60
	if seconds > 14*3600 {
		return f.zone
	}
	if offset[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone(offset, seconds)
}
