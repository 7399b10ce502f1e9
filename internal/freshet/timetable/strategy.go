// Package timetable defines cyclic polling strategies and computes their poll times.
package timetable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/units"
)

// A Strategy lists the times of every hour, day or week at which a source is polled, in a
// time zone. The zero Strategy leaves the times to the policy.
type Strategy struct {
	Every   Period
	Minutes []int  // from the beginning of the period, in order and without repeats; a week begins on Monday
	Zone    string // such as Europe/Berlin; "" means UTC
}

// A Period is the cycle of a strategy.
type Period string

// The periods of a strategy.
const (
	EveryHour Period = "hour"
	EveryDay  Period = "day"
	EveryWeek Period = "week"
)

// Periods lists all periods.
var Periods = []Period{EveryHour, EveryDay, EveryWeek}

// Length returns how long the period is, where no clock is put forward or back.
func (p Period) Length() time.Duration {
	switch p {
	case EveryHour:
		return time.Hour
	case EveryDay:
		return units.Day
	case EveryWeek:
		return 7 * units.Day
	}
	return 0
}

// Parse reads a strategy such as "hour {5, 15, 45}", "day {06:30, 14:00}
// Europe/Berlin" or "week {mon 09:00, thu 17:30}". The empty text is the zero Strategy.
func Parse(text string) (Strategy, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Strategy{}, nil
	}
	bad := func(format string, args ...any) (Strategy, error) {
		return Strategy{}, invalid.Errorf("strategy", "%s: %s", mask.Shorten(text, 80), fmt.Sprintf(format, args...))
	}
	head, rest, open := strings.Cut(text, "{")
	list, zone, closed := strings.Cut(rest, "}")
	s := Strategy{Every: Period(strings.ToLower(strings.TrimSpace(head))), Zone: strings.TrimSpace(zone)}
	switch {
	case !open:
		return bad("names no times in braces; write for example hour {5, 35}")
	case !closed:
		return bad("has no } after the times")
	case !slices.Contains(Periods, s.Every):
		return bad("%.40q is not hour, day or week", head)
	case strings.TrimSpace(list) == "":
		return bad("names no time")
	}
	for item := range strings.SplitSeq(list, ",") {
		minute, err := s.Every.parse(strings.TrimSpace(item))
		if err != nil {
			return bad("%v", err)
		}
		s.Minutes = append(s.Minutes, minute)
	}
	slices.Sort(s.Minutes)
	s.Minutes = slices.Compact(s.Minutes)
	if s.Zone == "UTC" {
		s.Zone = ""
	}
	if err := units.CheckZone("strategy", s.Zone); err != nil {
		return bad("%v", invalid.ReasonOf(err))
	}
	return s, nil
}

// parse reads a time of the period, and returns the minutes from its beginning.
func (p Period) parse(item string) (int, error) {
	switch p {
	case EveryHour:
		minute, err := strconv.Atoi(item)
		switch {
		case err != nil || minute < 0:
			return 0, fmt.Errorf("%.40q is not a minute of the hour, such as 5", item)
		case minute > 59:
			return 0, fmt.Errorf("minute %d is past 59", minute)
		}
		return minute, nil
	case EveryDay:
		at, err := units.ParseTimeOfDay(item)
		return int(at), err
	}
	name, clock, ok := strings.Cut(item, " ")
	day := slices.IndexFunc(units.Weekdays, func(day string) bool {
		return len(name) >= len(day) && strings.HasPrefix(strings.ToLower(time.Weekday(slices.Index(units.Weekdays, day)).String()), strings.ToLower(name))
	})
	switch {
	case day < 0:
		return 0, fmt.Errorf("%.40q is not a day and a time, such as mon 09:00", item)
	case !ok:
		return 0, fmt.Errorf("%.40q has no time; write for example %s 09:00", item, units.Weekdays[day])
	}
	at, err := units.ParseTimeOfDay(clock)
	return (day+6)%7*24*60 + int(at), err
}

// String returns the strategy as Parse reads it, in its normal form.
func (s Strategy) String() string {
	if s.IsZero() {
		return ""
	}
	times := make([]string, len(s.Minutes))
	for i, minute := range s.Minutes {
		switch s.Every {
		case EveryHour:
			times[i] = strconv.Itoa(minute)
		case EveryDay:
			times[i] = units.TimeOfDay(minute).String()
		default:
			const day = 24 * 60
			times[i] = units.Weekdays[(minute/day+1)%7] + " " + units.TimeOfDay(minute%day).String()
		}
	}
	text := string(s.Every) + " {" + strings.Join(times, ", ") + "}"
	if s.Zone != "" {
		text += " " + s.Zone
	}
	return text
}

// IsZero reports whether the policy says when the source is polled.
func (s Strategy) IsZero() bool { return len(s.Minutes) == 0 }

// MarshalText implements encoding.TextMarshaler.
func (s Strategy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Strategy) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// Gap returns the mean time from one poll to the next; zero without a strategy.
func (s Strategy) Gap() time.Duration {
	if s.IsZero() {
		return 0
	}
	return s.Every.Length() / time.Duration(len(s.Minutes))
}
