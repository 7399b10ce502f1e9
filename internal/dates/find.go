package dates

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"freshet/internal/lazyregexp"
)

// months are the names of the months in the languages that are read: English,
// German, French, Spanish, Italian and Dutch. A name counts from three letters on.
var months = func() map[string]time.Month {
	all := map[string]time.Month{}
	for m, names := range []string{
		"january jan januar jänner janvier janv enero ene gennaio gen januari",
		"february feb februar février fevrier févr fevr fév febrero febbraio februari",
		"march mar märz maerz mär mrz mars marzo maart mrt",
		"april apr avril avr abril abr aprile",
		"may mai mayo maggio mag mei",
		"june jun juni juin junio giugno giu",
		"july jul juli juillet juil julio luglio lug",
		"august aug août aout agosto ago augustus",
		"september sep sept septembre septiembre settembre set",
		"october oct oktober okt octobre octubre ottobre ott",
		"november nov novembre noviembre",
		"december dec dezember dez décembre decembre déc diciembre dic dicembre",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = time.Month(m + 1)
		}
	}
	return all
}()

var (
	isoDay   = lazyregexp.New(`\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:\D|$)`)
	tightISO = lazyregexp.New(`\b((?:19|20)\d{2})(\d{2})(\d{2})(?:T|\b)`)
	dayFirst = lazyregexp.New(`\b(\d{1,2})(?:st|nd|rd|th|er|º|\.)?[ \-]*(?:de )?([\pL]{3,10})\.?,?[ \-]*(?:de )?(\d{4}|\d{2}\b)`)
	dayLast  = lazyregexp.New(`(?:^|[^\pL])([\pL]{3,10})\.? +(\d{1,2})(?:st|nd|rd|th)?,? (?:\d{1,2}:\d{2}(?::\d{2})?(?: [A-Z]{2,4})? )?(\d{4})`)
	inDigits = lazyregexp.New(`\b(\d{1,2})([./-])(\d{1,2})[./-](\d{4}|\d{2})(?:\D|$)`)
	dayTime  = lazyregexp.New(`(?:^|[^\d:])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:\s*([AaPp])\.?[Mm]\b\.?)?\s*(Z\b|(?:GMT|UTC)?[+-]\d{2}:?\d{2}\b|[A-Z]{3,4}\b)?`)
	tightDay = lazyregexp.New(`T(\d{2})(\d{2})(\d{2})(Z)?`)
)

// ErrNone means that there is no date in a text.
var ErrNone = errors.New("there is no date in it")

// Find reads the first date in a text in the usual formats: ISO 8601, RFC
// 1123 and RFC 822, 12 March 2026, March 12, 2026, 12.03.2026, seconds since 1970.
// The names of months may be English, German, French, Spanish, Italian or Dutch.
// Order is how to read a date such as 03/12/2026: dmy or mdy; without one, such a
// date is refused unless it can be read in only one way.
func Find(s, order string) (Date, error) {
	if d, ok := Epoch([]byte(s)); ok {
		return d, nil
	}
	day, end, err := FindDay(s, order)
	if err != nil {
		return Date{}, err
	}
	return withTime(s, end, day), nil
}

// FindDay returns the first date in a text, and where it ends.
func FindDay(s, order string) (day time.Time, end int, err error) {
	if m := isoDay.FindStringSubmatchIndex(s); m != nil {
		day, err = date(s[m[2]:m[3]], s[m[4]:m[5]], s[m[6]:m[7]])
		return day, m[7], err
	}
	if m := dayFirst.FindStringSubmatchIndex(s); m != nil {
		if month := months[strings.ToLower(s[m[4]:m[5]])]; month != 0 {
			day, err = date(s[m[6]:m[7]], strconv.Itoa(int(month)), s[m[2]:m[3]])
			return day, m[7], err
		}
	}
	if m := dayLast.FindStringSubmatchIndex(s); m != nil {
		if month := months[strings.ToLower(s[m[2]:m[3]])]; month != 0 {
			day, err = date(s[m[6]:m[7]], strconv.Itoa(int(month)), s[m[4]:m[5]])
			return day, m[5], err
		}
	}
	if m := inDigits.FindStringSubmatchIndex(s); m != nil {
		day, err = ordered(s[m[2]:m[3]], s[m[6]:m[7]], s[m[8]:m[9]], s[m[4]:m[5]], order)
		return day, m[9], err
	}
	if m := tightISO.FindStringSubmatchIndex(s); m != nil {
		day, err = date(s[m[2]:m[3]], s[m[4]:m[5]], s[m[6]:m[7]])
		return day, m[7], err
	}
	return day, 0, ErrNone
}

// ordered returns a date in digits whose order is stated, or shows.
func ordered(a, b, year, mark, order string) (time.Time, error) {
	first, _ := strconv.Atoi(a)
	second, _ := strconv.Atoi(b)
	switch {
	case order == "mdy":
		return date(year, a, b)
	case order == "ymd" && len(year) == 2:
		return date(a, b, year)
	case order == "dmy", mark == ".", first > 12:
		return date(year, b, a)
	case second > 12, first == second:
		return date(year, a, b)
	}
	return time.Time{}, fmt.Errorf("%q can be read in two ways; state the order: dmy or mdy", a+mark+b+mark+year)
}

// date makes a date of its parts, and refuses the 31st of February.
func date(year, month, day string) (time.Time, error) {
	y, err1 := strconv.Atoi(year)
	m, err2 := strconv.Atoi(month)
	d, err3 := strconv.Atoi(day)
	if len(year) == 2 {
		if y += 2000; y >= 2070 {
			y -= 100
		}
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if err1 != nil || err2 != nil || err3 != nil || t.Month() != time.Month(m) || t.Day() != d || y < 1 {
		return t, fmt.Errorf("there is no day %d of month %d in %d", d, m, y)
	}
	return t, nil
}

// withTime returns a date with the time that stands in the same text, behind it
// rather than before.
func withTime(s string, end int, day time.Time) Date {
	if m := tightDay.FindStringSubmatch(s); m != nil {
		return clockTime(day, m[1], m[2], m[3], "", m[4])
	}
	m := dayTime.FindStringSubmatch(s[end:])
	if m == nil {
		m = dayTime.FindStringSubmatch(s)
	}
	if m == nil {
		return Date{Time: day, Precision: Day}
	}
	return clockTime(day, m[1], m[2], m[3], m[4], m[5])
}

func clockTime(day time.Time, hour, minute, second, half, zone string) Date {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	sec, _ := strconv.Atoi(second)
	switch strings.ToLower(half) {
	case "p":
		h = h%12 + 12
	case "a":
		h %= 12
	}
	if h > 24 || m > 59 || sec > 60 {
		return Date{Time: day, Precision: Day}
	}
	d := Date{Precision: Second}
	if second == "" {
		d.Precision = Minute
	}
	if len(zone) > 3 && (zone[3] == '+' || zone[3] == '-') { // GMT+0100
		zone = zone[3:]
	}
	offset := 0
	if zone != "" {
		offset, d.Zoned = (&cursor{rest: []byte(zone)}).zone()
	}
	d.Time = time.Date(day.Year(), day.Month(), day.Day(), h, m, sec, 0, zoneAt(offset))
	return d
}
