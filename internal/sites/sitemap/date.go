package sitemap

import (
	"strings"
	"time"

	"freshet/internal/zonename"
)

// A Precision is how much of a date was given.
type Precision uint8

// The precisions of dates, from the coarse to the fine.
const (
	NoDate Precision = iota
	Year
	Month
	Day
	Minute
	Second
)

// A Date is a point in time as somebody wrote it down. The zero Date is none.
type Date struct {
	// Time is the beginning of what the date names, in its own time zone. One
	// that names none is in UTC.
	Time      time.Time
	Precision Precision
}

// IsZero reports whether there is no date.
func (d Date) IsZero() bool { return d.Precision == NoDate }

// String returns the date as RFC 3339 has it or, if there is no time of day, as
// 2026-01-31; of a month or a year its first day.
func (d Date) String() string {
	switch {
	case d.IsZero():
		return ""
	case d.Precision <= Day:
		return d.Time.Format(time.DateOnly)
	}
	return d.Time.Format(time.RFC3339Nano)
}

// MarshalText returns what String does.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// ParseDate reads a date in the formats of the W3C, in those of feeds, and in those
// that people use by mistake: 2026-1-5, 2026/01/05, with a space for the T, without
// a time zone, seconds or milliseconds since 1970, Jan 5, 2026. It reports false for
// what is no date, for one that can be read in two ways such as 03/04/2026, and for
// years before 1900 or after 9999: they stand for "none".
func ParseDate(s string) (Date, bool) { return parseDate([]byte(s)) }

const oldest = 1900

func parseDate(b []byte) (Date, bool) {
	b = trim(b)
	if d, ok := isoDate(b); ok {
		return d, d.Time.Year() >= oldest
	}
	if len(b) > 100 {
		return Date{}, false
	}
	if d, ok := epoch(b); ok {
		return d, true
	}
	d, ok := wordyDate(string(b))
	return d, ok && d.Time.Year() >= oldest
}

// A cursor reads numbers from the front of a text.
type cursor struct {
	rest []byte
	bad  bool
}

// digits reads a number of least to most digits.
func (c *cursor) digits(least, most int) (n int) {
	i := 0
	for i < len(c.rest) && i < most && c.rest[i]-'0' <= 9 {
		n = 10*n + int(c.rest[i]-'0')
		i++
	}
	c.bad = c.bad || i < least
	c.rest = c.rest[i:]
	return n
}

// skip passes over one of these bytes if it is next.
func (c *cursor) skip(any string) byte {
	if len(c.rest) > 0 && strings.IndexByte(any, c.rest[0]) >= 0 {
		was := c.rest[0]
		c.rest = c.rest[1:]
		return was
	}
	return 0
}

// isoDate reads 2026, 2026-01, 2026-01-05, 20260105 and these with a time.
func isoDate(b []byte) (Date, bool) {
	c := cursor{rest: b}
	year, month, day := c.digits(4, 4), 1, 1
	precision := Year
	if c.bad {
		return Date{}, false
	}
	mark := c.skip("-/.")
	switch {
	case mark != 0:
		month, precision = c.digits(1, 2), Month
		if c.skip(string(rune(mark))) != 0 {
			day, precision = c.digits(1, 2), Day
		}
	case len(c.rest) == 4 || len(c.rest) > 4 && c.rest[4] == 'T':
		month, day, precision = c.digits(2, 2), c.digits(2, 2), Day
	}
	if c.bad || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return Date{}, false
	}
	if len(c.rest) == 0 {
		return Date{time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), precision}, true
	}
	if precision != Day || c.skip("Tt \t_") == 0 {
		return Date{}, false
	}
	c.rest = trim(c.rest)
	return c.clock(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC))
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// clock reads a time of day and a zone, and returns them on a day.
func (c *cursor) clock(day time.Time) (Date, bool) {
	hour := c.digits(1, 2)
	tight := c.skip(":") == 0
	minute, second, nano := c.digits(2, 2), 0, 0
	precision := Minute
	if !tight && c.skip(":") != 0 || tight && len(c.rest) > 1 && c.rest[0]-'0' <= 9 {
		second, precision = c.digits(1, 2), Second
		if c.skip(".,") != 0 {
			nano = c.fraction()
		}
	}
	if c.bad || hour > 24 || minute > 59 || second > 60 {
		return Date{}, false
	}
	offset, ok := c.zone()
	if !ok {
		return Date{}, false
	}
	in := time.UTC
	if offset != 0 {
		in = time.FixedZone("", offset)
	}
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, second, nano, in)
	return Date{at, precision}, at.Year() <= 9999
}

// fraction reads the digits behind a point as nanoseconds.
func (c *cursor) fraction() (nano int) {
	unit := 100_000_000
	for len(c.rest) > 0 && c.rest[0]-'0' <= 9 {
		nano += unit * int(c.rest[0]-'0')
		unit /= 10
		c.rest = c.rest[1:]
	}
	return nano
}

// zone reads what is left as a time zone and returns its offset in seconds.
func (c *cursor) zone() (seconds int, ok bool) {
	c.rest = trim(c.rest)
	switch {
	case len(c.rest) == 0:
		return 0, true
	case c.rest[0] == '+' || c.rest[0] == '-':
		sign := 1
		if c.rest[0] == '-' {
			sign = -1
		}
		c.rest = c.rest[1:]
		hours := c.digits(1, 2)
		minutes := 0
		if c.skip(":") != 0 || len(c.rest) == 2 {
			minutes = c.digits(2, 2)
		}
		c.skip("Z") // +00:00Z is written by some
		return sign * (hours*3600 + minutes*60), !c.bad && len(c.rest) == 0 && hours < 24 && minutes < 60
	}
	return zonename.Offset(strings.ToUpper(string(c.rest[:min(len(c.rest), 8)])))
}

// epoch reads seconds or milliseconds since 1970.
func epoch(b []byte) (Date, bool) {
	if len(b) != 9 && len(b) != 10 && len(b) != 13 {
		return Date{}, false
	}
	c := cursor{rest: b}
	n := c.digits(len(b), len(b))
	if c.bad || n == 0 {
		return Date{}, false
	}
	if len(b) == 13 {
		return Date{time.UnixMilli(int64(n)).UTC(), Second}, true
	}
	return Date{time.Unix(int64(n), 0).UTC(), Second}, true
}

// wordyLayouts are how dates are written with the names of months, days of the
// week left out, and the German way. Time zones are cut off before.
var wordyLayouts = [...]struct {
	layout    string
	precision Precision
}{
	{"2 Jan 2006 15:04:05", Second},
	{"2 Jan 2006 15:04", Minute},
	{"2 Jan 06 15:04:05", Second},
	{"2 Jan 06 15:04", Minute},
	{"2-Jan-06 15:04:05", Second},
	{"2-Jan-2006 15:04:05", Second},
	{"Jan 2 15:04:05 2006", Second},
	{"Jan 2 2006 15:04:05", Second},
	{"Jan 2 2006 15:04", Minute},
	{"Jan 2 2006 3:04 PM", Minute},
	{"Jan 2 2006 3:04:05 PM", Second},
	{"2 Jan 2006", Day},
	{"Jan 2 2006", Day},
	{"2-Jan-2006", Day},
	{"Jan 2006", Month},
	{"2.1.2006 15:04:05", Second},
	{"2.1.2006 15:04", Minute},
	{"2.1.2006", Day},
}

// wordyDate reads the dates of RFC 822, 850 and 1123, of C and JavaScript, and those
// that people write.
func wordyDate(s string) (Date, bool) {
	s, _, _ = strings.Cut(s, " (") // (Central European Time)
	words := strings.Fields(strings.ReplaceAll(s, ",", " "))
	if len(words) > 0 && isWeekday(words[0]) {
		words = words[1:]
	}
	offset := 0
	kept := words[:0]
	for i, w := range words {
		if seconds, ok := offsetOf(w); i > 0 && ok {
			offset = seconds
			continue
		}
		kept = append(kept, shortMonth(w))
	}
	text := strings.Join(kept, " ")
	for _, l := range wordyLayouts {
		at, err := time.Parse(l.layout, text)
		if err != nil {
			continue
		}
		if offset != 0 && l.precision > Day {
			at = at.Add(-time.Duration(offset) * time.Second).In(time.FixedZone("", offset))
		}
		return Date{at, l.precision}, true
	}
	return numberDate(text)
}

// offsetOf reads a word as a time zone: GMT, +0100, GMT+0100.
func offsetOf(word string) (seconds int, ok bool) {
	c := cursor{rest: []byte(word)}
	if len(word) > 3 && (word[3] == '+' || word[3] == '-') {
		c.rest = c.rest[3:]
	}
	if len(c.rest) == 0 || c.rest[0]-'0' <= 9 {
		return 0, false
	}
	return c.zone()
}

func isWeekday(word string) bool {
	if len(word) < 3 {
		return false
	}
	switch strings.ToLower(word[:3]) {
	case "mon", "tue", "wed", "thu", "fri", "sat", "sun":
		return true
	}
	return false
}

// shortMonth returns the name of a month as its first three letters, whatever its
// case; other words as they are.
func shortMonth(word string) string {
	word = strings.TrimSuffix(word, ".")
	low := strings.ToLower(word)
	for m := time.January; m <= time.December; m++ {
		name := m.String()
		if len(low) >= 3 && strings.HasPrefix(strings.ToLower(name), low) || low == "sept" && m == time.September {
			return name[:3]
		}
	}
	return word
}

// numberDate reads 31/12/2026 and 12/31/2026, which can be read in one way only.
func numberDate(s string) (Date, bool) {
	c := cursor{rest: []byte(s)}
	a := c.digits(1, 2)
	mark := c.skip("/-")
	if mark == 0 {
		return Date{}, false
	}
	b := c.digits(1, 2)
	if c.skip(string(rune(mark))) == 0 {
		return Date{}, false
	}
	year := c.digits(4, 4)
	switch {
	case a > 12:
		a, b = b, a
	case b <= 12 && a != b:
		return Date{}, false
	}
	if c.bad || a < 1 || a > 12 || b < 1 || b > daysIn(year, a) {
		return Date{}, false
	}
	day := time.Date(year, time.Month(a), b, 0, 0, 0, 0, time.UTC)
	if len(c.rest) == 0 {
		return Date{day, Day}, true
	}
	c.rest = trim(c.rest)
	return c.clock(day)
}

// trim returns b without white space and byte order marks around it.
func trim(b []byte) []byte {
	for len(b) > 0 {
		switch {
		case b[0] <= ' ':
			b = b[1:]
		case b[len(b)-1] <= ' ':
			b = b[:len(b)-1]
		case len(b) >= 2 && b[0] == 0xc2 && b[1] == 0xa0: // a space that does not break
			b = b[2:]
		case len(b) >= 2 && b[len(b)-2] == 0xc2 && b[len(b)-1] == 0xa0:
			b = b[:len(b)-2]
		case len(b) >= 3 && (string(b[:3]) == "\ufeff" || string(b[:3]) == "\u200b"):
			b = b[3:]
		case len(b) >= 3 && (string(b[len(b)-3:]) == "\ufeff" || string(b[len(b)-3:]) == "\u200b"):
			b = b[:len(b)-3]
		default:
			return b
		}
	}
	return b
}
