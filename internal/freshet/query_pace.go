package freshet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A TimeOfDay is a time on a clock on the wall, in minutes after midnight.
type TimeOfDay int

// ParseTimeOfDay reads a time such as "8:00" or "22:30".
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	hour, minute, ok := strings.Cut(strings.TrimSpace(text), ":")
	h, errH := strconv.Atoi(hour)
	m, errM := strconv.Atoi(minute)
	if !ok || errH != nil || errM != nil || len(minute) != 2 || h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, fmt.Errorf("%.40q is not a time of day, such as 08:00", text)
	}
	return TimeOfDay(h*60 + m), nil
}

// String returns the time as ParseTimeOfDay reads it.
func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", t/60, t%60) }

// MarshalText implements encoding.TextMarshaler.
func (t TimeOfDay) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *TimeOfDay) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTimeOfDay(string(text))
	return err
}

// A DigestEvery says how often a digest is told.
type DigestEvery string

// How often a digest can be told.
const (
	DigestNever DigestEvery = ""
	DigestHour  DigestEvery = "hour"
	DigestDay   DigestEvery = "day"
	DigestWeek  DigestEvery = "week"
)

// A Digest says that matches are told together: at a time, when there are enough of
// them, or whichever comes first. The zero Digest tells each by itself.
type Digest struct {
	Every DigestEvery `json:"every,omitempty"`
	At    TimeOfDay   `json:"at,omitzero"`    // of the day or the week; of an hour, its minutes count
	On    string      `json:"on,omitempty"`   // the day of a week: mon, tue, ...; "" means mon
	Zone  string      `json:"zone,omitempty"` // such as Europe/Berlin; "" means UTC
	Count int         `json:"count,omitempty"`
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Weekday returns the day of a weekly digest.
func (d Digest) Weekday() time.Weekday {
	if i := slices.Index(weekdays, d.On); i >= 0 {
		return time.Weekday(i)
	}
	return time.Monday
}

// UnmarshalJSON reads an object, a number of matches, or one of "hourly", "daily",
// "weekly", "daily 08:00" and "daily 08:00 Europe/Berlin".
func (d *Digest) UnmarshalJSON(text []byte) error {
	*d = Digest{}
	if n, err := strconv.Atoi(string(text)); err == nil {
		d.Count = n
		return nil
	}
	if bytes.HasPrefix(text, []byte(`"`)) {
		var line string
		if err := json.Unmarshal(text, &line); err != nil {
			return err
		}
		return d.parse(line)
	}
	type plain Digest
	v, err := parseValue[plain](string(text))
	if err != nil {
		return wrong("digest", "%v", err)
	}
	*d = Digest(v)
	return nil
}

func (d *Digest) parse(line string) error {
	words := strings.Fields(line)
	every := map[string]DigestEvery{"hourly": DigestHour, "daily": DigestDay, "weekly": DigestWeek}
	if len(words) == 0 || len(words) > 3 || every[words[0]] == "" {
		return wrong("digest", "%.60q is not hourly, daily, weekly, or such as daily 08:00 Europe/Berlin", line)
	}
	d.Every = every[words[0]]
	if len(words) > 1 {
		at, err := ParseTimeOfDay(words[1])
		if err != nil {
			return wrong("digest.at", "%v", err)
		}
		d.At = at
	}
	if len(words) > 2 {
		d.Zone = words[2]
	}
	return nil
}

const maxDigest = 10_000 // matches

func (d *Digest) check() error {
	switch d.Every {
	case DigestNever, DigestHour, DigestDay, DigestWeek:
	default:
		return wrong("digest.every", "%.40q is not hour, day or week", string(d.Every))
	}
	switch {
	case d.Every == DigestNever && d.At != 0:
		return wrong("digest.at", "needs digest.every")
	case d.Every == DigestHour && d.At >= 60:
		return wrong("digest.at", "%s is not a time within an hour; write 00:15 for a quarter past", d.At)
	case d.On != "" && d.Every != DigestWeek:
		return wrong("digest.on", "needs every: week")
	case d.On != "" && !slices.Contains(weekdays, d.On):
		return wrong("digest.on", "%.40q is not a day: use %s", d.On, strings.Join(weekdays, ", "))
	case d.Count < 0 || d.Count > maxDigest:
		return wrong("digest.count", "must be from 1 to %d", maxDigest)
	}
	return checkZone("digest.zone", d.Zone)
}

// checkZone judges the name of a time zone. That of the machine is none: what a query
// does must not depend on where it runs.
func checkZone(field, name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return wrong(field, "%.80q is not a time zone, such as Europe/Berlin or UTC", name)
	}
	return nil
}

// QuietHours are when nothing is told, by the clock on the wall of a time zone. What
// matches meanwhile is told afterwards, together. Equal From and To mean the whole day.
type QuietHours struct {
	From TimeOfDay `json:"from"`
	To   TimeOfDay `json:"to"`
	Zone string    `json:"zone,omitempty"`
	Days []string  `json:"days,omitempty"` // on which they begin: mon, tue, ...; none means all
}

// IsZero reports whether there are no quiet hours.
func (q QuietHours) IsZero() bool { return q.From == q.To && len(q.Days) == 0 }

// On reports whether quiet hours begin on a day of the week.
func (q QuietHours) On(day time.Weekday) bool {
	return len(q.Days) == 0 || slices.Contains(q.Days, weekdays[day])
}

// UnmarshalJSON reads an object, or "22:00-07:00", or "22:00-07:00 Europe/Berlin".
func (q *QuietHours) UnmarshalJSON(text []byte) error {
	*q = QuietHours{}
	if !bytes.HasPrefix(text, []byte(`"`)) {
		type plain QuietHours
		v, err := parseValue[plain](string(text))
		if err != nil {
			return wrong("quiet", "%v", err)
		}
		*q = QuietHours(v)
		return nil
	}
	var line string
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	hours, zone, _ := strings.Cut(strings.TrimSpace(line), " ")
	from, to, ok := strings.Cut(hours, "-")
	if !ok {
		return wrong("quiet", "%.60q is not such as 22:00-07:00 or 22:00-07:00 Europe/Berlin", line)
	}
	var err error
	if q.From, err = ParseTimeOfDay(from); err != nil {
		return wrong("quiet.from", "%v", err)
	}
	if q.To, err = ParseTimeOfDay(to); err != nil {
		return wrong("quiet.to", "%v", err)
	}
	q.Zone = strings.TrimSpace(zone)
	return nil
}

func (q *QuietHours) check() error {
	for i, day := range q.Days {
		if !slices.Contains(weekdays, day) {
			return wrong(fmt.Sprintf("quiet.days[%d]", i), "%.40q is not a day: use %s", day, strings.Join(weekdays, ", "))
		}
	}
	q.Days = tidy(q.Days)
	if q.From == q.To && len(q.Days) == 0 && q.From != 0 || len(q.Days) == len(weekdays) && q.From == q.To {
		return wrong("quiet", "would never end; to stop a query, pause it")
	}
	return checkZone("quiet.zone", q.Zone)
}

// A MatchRate is how many matches are told at most in a length of time. What is over
// is held back, and told together when there is room again. Zero means any number.
type MatchRate struct {
	N   int
	Per time.Duration
}

// ParseMatchRate reads a rate such as "10/h" or "1/15m".
func ParseMatchRate(text string) (MatchRate, error) {
	number, per, ok := strings.Cut(strings.TrimSpace(text), "/")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if !ok || err != nil || n < 1 {
		return MatchRate{}, fmt.Errorf("%.40q is not a rate, such as 10/h or 1/15m", text)
	}
	length, err := ParsePer(strings.TrimSpace(per))
	return MatchRate{n, length}, err
}

// String returns the rate as ParseMatchRate reads it; "" if there is none.
func (r MatchRate) String() string {
	if r == (MatchRate{}) {
		return ""
	}
	return strconv.Itoa(r.N) + "/" + FormatPer(r.Per)
}

// MarshalText implements encoding.TextMarshaler.
func (r MatchRate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *MatchRate) UnmarshalText(text []byte) (err error) {
	*r = MatchRate{}
	if len(text) == 0 {
		return nil
	}
	if *r, err = ParseMatchRate(string(text)); err != nil {
		return wrong("rate", "%v", err)
	}
	return nil
}

const mostRate = 1000 // matches whose times are remembered

func (r *MatchRate) check() error {
	switch {
	case *r == MatchRate{}:
		return nil
	case r.N < 1 || r.N > mostRate:
		return wrong("rate", "must be from 1 to %d in a length of time", mostRate)
	case r.Per < time.Second || r.Per > longestWindow:
		return wrong("rate", "the length of time must be from 1s to %s", FormatDuration(longestWindow))
	}
	return nil
}
