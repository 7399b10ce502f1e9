package sites

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A dated is what a URL says about a day, if it does.
type dated struct {
	day      int    // number of the day
	span     int    // days that the page is about: 1, 7 or 31
	skeleton string // the URL without its date, numbers masked
	listing  bool   // nothing but the date tells the page from others of its kind
}

// reach is how far a calendar may run beyond the dates that other pages link to.
func (d dated) reach() int {
	if d.span < 31 {
		return 100
	}
	return 400
}

// calendars are folders in which eight digits are a date.
var calendars = endings("calendar cal events event kalender termine agenda archive archives archiv calendrier calendario day days date month week diary schedule programme programm")

// dateOf returns the date that a URL is about.
func dateOf(a *address) (dated, bool) {
	if d, ok := dateInPath(a); ok {
		return d, true
	}
	return dateInQuery(a)
}

func dateInPath(a *address) (dated, bool) {
	for i, segment := range a.segments {
		var rest []string
		d := dated{span: 1}
		year, ok := whole(segment, 1900, 2200)
		month, isMonth := 0, false
		if ok && len(segment) == 4 && i+1 < len(a.segments) && len(a.segments[i+1]) <= 2 {
			month, isMonth = whole(a.segments[i+1], 1, 12)
		}
		switch {
		case isMonth:
			rest = a.segments[i+2:]
			date := 1
			d.span = 31
			if len(rest) > 0 && len(rest[0]) <= 2 {
				if n, ok := whole(rest[0], 1, 31); ok {
					date, d.span, rest = n, 1, rest[1:]
				}
			}
			d.day = dayNumber(year, month, date)
		default:
			d.day, d.span, ok = readDate(segment, i > 0 && calendars[strings.ToLower(a.segments[i-1])])
			if !ok {
				continue
			}
			rest = a.segments[i+1:]
		}
		words := 0
		for _, word := range rest {
			if word != "" && !number(word) && word != "page" && word != "feed" {
				words++
			}
		}
		d.listing = words == 0
		d.skeleton = mask(a.origin + "/" + strings.Join(a.segments[:i], "/") + "/@/" + strings.Join(rest, "/") + "?" + maskedQuery(a, nil))
		return d, true
	}
	return dated{}, false
}

// dateInQuery finds a date in one parameter, or a year and a month in two.
func dateInQuery(a *address) (dated, bool) {
	var used []string
	d := dated{span: 31, listing: true}
	year, month, date := 0, 1, 1
	for _, p := range a.params {
		name := strings.ToLower(p.name)
		if day, span, ok := readDate(p.value, dateName(name)); ok && !p.inPath() {
			d.day, d.span = day, min(d.span, span)
			used = append(used, p.name)
			continue
		}
		n, isNumber := whole(p.value, 0, 2200)
		switch {
		case !isNumber:
		case n >= 1900 && (strings.Contains(name, "year") || name == "y" || name == "yr" || name == "jahr"):
			year, used = n, append(used, p.name)
		case n >= 1 && n <= 12 && (strings.Contains(name, "month") || name == "m" || name == "mon" || name == "monat"):
			month, used = n, append(used, p.name)
		case n >= 1 && n <= 31 && (name == "day" || name == "d" || name == "tag" || name == "mday"):
			date, used = n, append(used, p.name)
			d.span = 1
		}
	}
	if year > 0 {
		d.day = dayNumber(year, month, date)
	}
	if d.day == 0 {
		return dated{}, false
	}
	d.skeleton = mask(a.origin+"/"+strings.Join(a.segments, "/")) + "?@" + maskedQuery(a, used)
	return d, true
}

// maskedQuery returns the query with numbers masked, without the parameters named.
func maskedQuery(a *address, without []string) string {
	var out strings.Builder
	for _, p := range a.params {
		if p.inPath() || slices.Contains(without, p.name) {
			continue
		}
		out.WriteString(p.name)
		out.WriteByte('=')
		out.WriteString(mask(p.value))
		out.WriteByte('&')
	}
	return out.String()
}

// dateName reports whether a parameter of this name holds dates.
func dateName(name string) bool {
	for _, word := range []string{"date", "datum", "day", "month", "week", "time", "start", "from", "until", "cal"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "d" || name == "m" || name == "t" || name == "ts" || name == "to" || name == "end"
}

// readDate reads 2026-05-17, 2026-05, 2026-W20, and, where a date is expected, 20260517,
// 202605 and seconds since 1970.
func readDate(text string, expected bool) (day, span int, ok bool) {
	if len(text) >= 7 && len(text) <= 25 && (text[4] == '-' || text[4] == '_') {
		return readDashed(text)
	}
	if !expected || !number(text) {
		return 0, 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, 0, false
	}
	switch {
	case len(text) == 8 && n >= 1900_01_01 && n < 2200_00_00 && n/100%100 >= 1 && n/100%100 <= 12 && n%100 >= 1 && n%100 <= 31:
		return dayNumber(n/10000, n/100%100, n%100), 1, true
	case len(text) == 6 && n >= 1900_01 && n < 2200_00 && n%100 >= 1 && n%100 <= 12:
		return dayNumber(n/100, n%100, 1), 31, true
	case len(text) == 10 || len(text) == 13:
		for len(text) == 13 {
			n, text = n/1000, text[:10]
		}
		return dayNumber(1970, 1, 1) + n/86400, 1, true
	}
	return 0, 0, false
}

func readDashed(text string) (day, span int, ok bool) {
	year, ok := whole(text[:4], 1900, 2200)
	if !ok {
		return 0, 0, false
	}
	if text[5] == 'W' || text[5] == 'w' {
		week, ok := whole(text[6:min(8, len(text))], 1, 53)
		return dayNumber(year, 1, 1) + 7*week, 7, ok && len(text) <= 8
	}
	month, ok := whole(text[5:7], 1, 12)
	if !ok || len(text) == 7 {
		return dayNumber(year, month, 1), 31, ok
	}
	if len(text) < 10 || text[7] != text[4] || len(text) > 10 && text[10] != 'T' && text[10] != '%' {
		return 0, 0, false
	}
	date, ok := whole(text[8:10], 1, 31)
	return dayNumber(year, month, date), 1, ok
}

// whole reads a whole number between two bounds.
func whole(text string, least, most int) (int, bool) {
	if !number(text) || len(text) > 4 {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && n <= most
}

// dayNumber returns the number of a day, so that the days of two dates can be counted.
func dayNumber(year, month, day int) int {
	return int(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix()/86400) + 1_000_000
}
