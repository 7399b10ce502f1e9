// Package dates reads dates as headers, feeds, sitemaps, pages and people write them.
package dates

import (
	"bytes"
	"strings"
	"time"
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
	Zoned     bool // it names a time zone
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

// oldest is the first year that stands for itself, and not for "none".
const oldest = 1900

// Parse reads a text that is a date, in the formats of the W3C, in those of feeds, and in
// those that people use by mistake: 2026-1-5, 2026/01/05, with a space for the T, without
// a time zone, seconds or milliseconds since 1970, Jan 5, 2026. It reports false for
// what is no date, for one that can be read in two ways such as 03/04/2026, and for
// years before 1900 or after 9999: they stand for "none".
func Parse(b []byte) (Date, bool) {
	b = bytes.TrimSpace(b)
	if d, ok := isoDate(b); ok {
		return d, d.Time.Year() >= oldest
	}
	if len(b) > 100 {
		return Date{}, false
	}
	if d, ok := Epoch(b); ok {
		return d, true
	}
	if c := (cursor{rest: b}); c.digits(4, 4) > 0 && !c.bad { // 2026-01-05 and more that does not belong there
		return Date{}, false
	}
	d, err := Find(string(b), "")
	return d, err == nil && d.Time.Year() >= oldest && d.Time.Year() <= 9999
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
		return Date{Time: time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), Precision: precision}, true
	}
	if precision != Day || c.skip("Tt \t_") == 0 {
		return Date{}, false
	}
	c.rest = bytes.TrimSpace(c.rest)
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
	c.rest = bytes.TrimSpace(c.rest)
	zoned := len(c.rest) > 0
	offset, ok := c.zone()
	if !ok {
		return Date{}, false
	}
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, second, nano, zoneAt(offset))
	return Date{at, precision, zoned}, at.Year() <= 9999
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
	return Offset(strings.ToUpper(string(c.rest[:min(len(c.rest), 8)])))
}

// zoneAt returns the time zone so many seconds east of UTC.
func zoneAt(offset int) *time.Location {
	if offset == 0 {
		return time.UTC
	}
	return time.FixedZone("", offset)
}

// Epoch reads seconds or milliseconds since 1970.
func Epoch(b []byte) (Date, bool) {
	b = bytes.TrimSpace(b)
	c := cursor{rest: b}
	n := int64(c.digits(9, 13))
	switch {
	case c.bad || len(c.rest) > 0:
	case len(b) == 13:
		return Date{time.UnixMilli(n).UTC(), Second, true}, true
	case len(b) <= 10:
		return Date{time.Unix(n, 0).UTC(), Second, true}, true
	}
	return Date{}, false
}
