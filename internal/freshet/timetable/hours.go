package timetable

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/units"
)

// Hours are the hours of the week in which a source is polled, by the clock of a zone. The
// zero Hours are all of them.
type Hours struct {
	Spans []Span
	Zone  string // such as Europe/Berlin; "" means UTC
}

// A Span is a part of some days. If To is not after From it ends on the next day.
type Span struct {
	Days     Days
	From, To units.TimeOfDay
}

// Days is a set of days of the week. Bit 0 is Monday.
type Days uint8

const everyDay Days = 1<<7 - 1

const hoursExample = "mon-fri 09:00-17:00 Europe/Berlin"

// ParseHours reads hours such as "mon-fri 09:00-17:00 Europe/Berlin", "08:00-20:00" or
// "mon,wed 09:00-12:00, sat 10:00-14:00". The empty text is the zero Hours.
func ParseHours(text string) (h Hours, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return h, nil
	}
	bad := func(format string, args ...any) (Hours, error) {
		return Hours{}, invalid.Errorf("active", "%s: %s", mask.Shorten(text, 80), fmt.Sprintf(format, args...))
	}
	var days Days // of items that name only days, such as "mon" of "mon,wed 09:00-12:00"
	items := strings.Split(text, ",")
	for i, item := range items {
		words := strings.Fields(item)
		if len(words) > 0 && !strings.Contains(words[0], ":") {
			some, err := parseDays(words[0])
			if err != nil {
				return bad("%v", err)
			}
			days, words = days|some, words[1:]
		}
		switch {
		case len(words) == 0 && i < len(items)-1:
			continue
		case len(words) == 0:
			return bad("names no hours; write for example %s", hoursExample)
		}
		span := Span{Days: days}
		if days = 0; span.Days == 0 {
			span.Days = everyDay
		}
		from, to, ok := strings.Cut(words[0], "-")
		if !ok {
			return bad("%.40q is not a span of time such as 09:00-17:00", words[0])
		}
		if span.From, err = units.ParseTimeOfDay(from); err != nil {
			return bad("%v", err)
		}
		if to != "24:00" {
			if span.To, err = units.ParseTimeOfDay(to); err != nil {
				return bad("%v", err)
			}
		}
		h.Spans = append(h.Spans, span)
		switch {
		case len(words) > 2 || len(words) == 2 && i < len(items)-1:
			return bad("%.40q follows the hours; a time zone stands at the end, as in %s", strings.Join(words[1:], " "), hoursExample)
		case len(words) == 2:
			h.Zone = words[1]
		}
	}
	if h.Zone == "UTC" {
		h.Zone = ""
	}
	if err := units.CheckZone("active", h.Zone); err != nil {
		return bad("%v", invalid.ReasonOf(err))
	}
	return h, nil
}

// parseDays reads "mon", "monday" or "mon-fri".
func parseDays(text string) (days Days, err error) {
	first, last, isRange := strings.Cut(text, "-")
	from, err := parseDay(first)
	if err != nil {
		return 0, err
	}
	to := from
	if isRange {
		if to, err = parseDay(last); err != nil {
			return 0, err
		}
	}
	for day := from; ; day = (day + 1) % 7 {
		if days |= 1 << day; day == to {
			return days, nil
		}
	}
}

// parseDay returns a day of the week, from 0 for Monday.
func parseDay(text string) (int, error) {
	text = strings.ToLower(text)
	for day := range time.Saturday + 1 {
		if name := strings.ToLower(day.String()); len(text) >= 3 && strings.HasPrefix(name, text) {
			return (int(day) + 6) % 7, nil
		}
	}
	return 0, fmt.Errorf("%.40q is not a day such as mon, or days such as mon-fri", text)
}

// String returns the hours as ParseHours reads them.
func (h Hours) String() string {
	if h.IsZero() {
		return ""
	}
	spans := make([]string, len(h.Spans))
	for i, s := range h.Spans {
		spans[i] = s.String()
	}
	return strings.TrimSpace(strings.Join(spans, ", ") + " " + h.Zone)
}

// String returns the span as ParseHours reads it.
func (s Span) String() string {
	clock := s.From.String() + "-" + s.To.String()
	if s.To == 0 {
		clock = s.From.String() + "-24:00"
	}
	if s.Days == everyDay {
		return clock
	}
	return s.Days.String() + " " + clock
}

// String returns the days as ParseHours reads them: a range if they follow each other, else a list.
func (d Days) String() string {
	var names []string
	for day := range 7 {
		if d&(1<<day) != 0 {
			names = append(names, units.Weekdays[(day+1)%7])
		}
	}
	first, n := bits.TrailingZeros8(uint8(d)), len(names)
	if n > 2 && d>>first == 1<<n-1 {
		return names[0] + "-" + names[n-1]
	}
	return strings.Join(names, ",")
}

// IsZero reports whether the source is polled at all hours.
func (h Hours) IsZero() bool { return len(h.Spans) == 0 }

// MarshalText implements encoding.TextMarshaler.
func (h Hours) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hours) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHours(string(text))
	return err
}

// Openings returns when the hours begin and end.
func (h Hours) Openings() (*Openings, error) {
	zone, err := time.LoadLocation(h.Zone)
	if err != nil {
		return nil, invalid.Errorf("active", "%v", err)
	}
	o := &Openings{hours: h, zone: zone}
	for _, s := range h.Spans {
		for day := range int64(7) {
			if s.Days&(1<<day) == 0 {
				continue
			}
			from, to := day*daySeconds+int64(s.From)*60, day*daySeconds+int64(s.To)*60
			if to <= from {
				to += daySeconds
			}
			o.spans = append(o.spans, [2]int64{from, to})
			if to > weekSeconds { // from Sunday into Monday
				o.spans = append(o.spans, [2]int64{from - weekSeconds, to - weekSeconds})
			}
		}
	}
	for _, s := range o.spans {
		for _, bound := range s {
			o.bounds = append(o.bounds, (bound+weekSeconds)%weekSeconds)
		}
	}
	slices.Sort(o.bounds)
	o.bounds = slices.Compact(o.bounds)
	return o, nil
}

const (
	daySeconds  = 24 * 3600
	weekSeconds = 7 * daySeconds
)

// Openings tells when hours begin and end, by what the clock of their zone shows: an hour
// that the clock leaves out is not there, and one that it shows twice counts twice.
type Openings struct {
	hours  Hours
	zone   *time.Location
	spans  [][2]int64 // seconds from the beginning of a week on Monday
	bounds []int64    // at which one of them begins or ends, in order
}

// Hours returns the hours.
func (o *Openings) Hours() Hours { return o.hours }

// Open reports whether a moment is within the hours.
func (o *Openings) Open(at time.Time) bool { return o.openAt(o.clock(at)) }

// clock returns the second of the week that the clock shows.
func (o *Openings) clock(at time.Time) int64 {
	_, ahead := at.In(o.zone).Zone()
	return ((at.Unix()+int64(ahead)-monday)%weekSeconds + weekSeconds) % weekSeconds
}

func (o *Openings) openAt(second int64) bool {
	return slices.ContainsFunc(o.spans, func(s [2]int64) bool { return s[0] <= second && second < s[1] })
}

// Turn returns the first moment after one at which the hours begin or end; zero if they never do.
func (o *Openings) Turn(after time.Time) time.Time {
	open := o.Open(after)
	at := time.Unix(after.Unix(), 0)
	for range 4 * len(o.bounds) { // a week of bounds, and what jumps of the clock add
		at = o.nextBound(at)
		if o.Open(at) != open {
			return at.UTC()
		}
	}
	return time.Time{}
}

// nextBound returns the next moment at which the clock shows a bound, or jumps.
func (o *Openings) nextBound(after time.Time) time.Time {
	second := o.clock(after)
	i, _ := slices.BinarySearch(o.bounds, second+1)
	wait := o.bounds[i%len(o.bounds)] - second
	if wait <= 0 {
		wait += weekSeconds
	}
	next := after.Add(time.Duration(wait) * time.Second)
	if _, jump := after.In(o.zone).ZoneBounds(); !jump.IsZero() && jump.Before(next) {
		return jump
	}
	return next
}

// Opens returns the first moment at or after one that is within the hours.
func (o *Openings) Opens(at time.Time) time.Time {
	if o.Open(at) {
		return at
	}
	return o.Turn(at)
}
