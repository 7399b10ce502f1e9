package extract

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/zonename"
)

// Bounds of what is taken for a foretold time: how far ahead it may lie, and by how much a
// time of day may have passed without being that of tomorrow.
const (
	furthest = 400 * freshet.Day
	overdue  = 30 * time.Minute
)

// when reads the moment that stands at the beginning of a part of the text, behind a few
// other words. A length of time may stand there without a word such as "in" if it is bare.
func (f *foreteller) when(from, to int, bare bool) bool {
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
	f.next = freshet.NextWord{By: freshet.NextByText, Zoneless: zone == nil}
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
		if f.next.Zoneless { // nobody knows how late it is there
			passed = f.now
		}
		if f.next.At = on(0); !f.next.At.After(passed) {
			f.next.At = on(1)
		}
	}
	return true
}

// onDay moves what was read to the next such day of the week.
func (f *foreteller) onDay(day time.Weekday) {
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
func (f *foreteller) dayWord(low []byte) (word string, weekday time.Weekday, known bool) {
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
func (f *foreteller) lasts(low []byte, bare bool) bool {
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
		unit := units[string(part[2])]
		if unit == 0 || sum == 0 && !in && !bare && string(part[2]) == "h" { // 14h is a time of day
			break
		}
		n, _ := strconv.Atoi(string(part[1]))
		sum, rest = sum+time.Duration(n)*unit, rest[len(part[0]):]
	}
	if sum <= 0 || sum >= furthest {
		return false
	}
	f.next = freshet.NextWord{By: freshet.NextByText, At: f.now.Add(sum)}
	return true
}

// day returns the first date in a text, and where it ends.
func (f *foreteller) day(low []byte) (day time.Time, end int, ok bool) {
	if !bytes.ContainsAny(low, "0123456789") {
		return day, 0, false
	}
	text := strings.ReplaceAll(string(low), "\n", " ")
	day, end, err := dayIn(text, "")
	if err != nil || end > len(low) {
		return day, 0, false
	}
	return day, end, true
}

// hour returns the first time of day in a part of the text with its zone, which is nil if
// none is known, and where it begins.
func (f *foreteller) hour(from, to int) (hour, minute, second int, zone *time.Location, at int, ok bool) {
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
func (f *foreteller) zoneAt(from, to int) *time.Location {
	m := zoneName.FindSubmatch(f.text[from:to])
	if m == nil {
		return f.zone
	}
	name, offset := strings.ToUpper(string(m[1])), string(m[2])
	seconds, known := zonename.Offset(name)
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
