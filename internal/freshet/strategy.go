package freshet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// A Strategy is at which times of every hour, day or week a source is polled, by the
// clock of a time zone. The zero Strategy leaves that to the policy.
type Strategy struct {
	Every   StrategyPeriod
	Minutes []int  // from the beginning of the period, in order and without repeats; a week begins on Monday
	Zone    string // such as Europe/Berlin; "" means UTC
}

// A StrategyPeriod is how often a strategy repeats.
type StrategyPeriod string

// How often a strategy can repeat.
const (
	EveryHour StrategyPeriod = "hour"
	EveryDay  StrategyPeriod = "day"
	EveryWeek StrategyPeriod = "week"
)

// StrategyPeriods are all of them.
var StrategyPeriods = []StrategyPeriod{EveryHour, EveryDay, EveryWeek}

// Length returns how long the period is, where no clock is put forward or back.
func (p StrategyPeriod) Length() time.Duration {
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

// ParseStrategy reads a strategy such as "hour {5, 15, 45}", "day {06:30, 14:00}
// Europe/Berlin" or "week {mon 09:00, thu 17:30}". The empty text is the zero Strategy.
func ParseStrategy(text string) (Strategy, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Strategy{}, nil
	}
	bad := func(format string, args ...any) (Strategy, error) {
		return Strategy{}, invalid.Errorf("strategy", "%s: %s", Shorten(text, 80), fmt.Sprintf(format, args...))
	}
	head, rest, open := strings.Cut(text, "{")
	list, zone, closed := strings.Cut(rest, "}")
	s := Strategy{Every: StrategyPeriod(strings.ToLower(strings.TrimSpace(head))), Zone: strings.TrimSpace(zone)}
	switch {
	case !open:
		return bad("names no times in braces; write for example hour {5, 35}")
	case !closed:
		return bad("has no } after the times")
	case !slices.Contains(StrategyPeriods, s.Every):
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
	if err := CheckZone("strategy", s.Zone); err != nil {
		return bad("%v", invalid.ReasonOf(err))
	}
	return s, nil
}

// parse reads a time of the period, and returns the minutes from its beginning.
func (p StrategyPeriod) parse(item string) (int, error) {
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
		at, err := ParseTimeOfDay(item)
		return int(at), err
	}
	name, clock, ok := strings.Cut(item, " ")
	day := slices.IndexFunc(Weekdays, func(day string) bool {
		return len(name) >= len(day) && strings.HasPrefix(strings.ToLower(time.Weekday(slices.Index(Weekdays, day)).String()), strings.ToLower(name))
	})
	switch {
	case day < 0:
		return 0, fmt.Errorf("%.40q is not a day and a time, such as mon 09:00", item)
	case !ok:
		return 0, fmt.Errorf("%.40q has no time; write for example %s 09:00", item, Weekdays[day])
	}
	at, err := ParseTimeOfDay(clock)
	return (day+6)%7*24*60 + int(at), err
}

// String returns the strategy as ParseStrategy reads it, in its normal form.
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
			times[i] = TimeOfDay(minute).String()
		default:
			const day = 24 * 60
			times[i] = Weekdays[(minute/day+1)%7] + " " + TimeOfDay(minute%day).String()
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
	*s, err = ParseStrategy(string(text))
	return err
}

// Gap returns the mean time from one poll to the next; zero without a strategy.
func (s Strategy) Gap() time.Duration {
	if s.IsZero() {
		return 0
	}
	return s.Every.Length() / time.Duration(len(s.Minutes))
}

// A TagStrategy is a strategy for all sources with a tag that have none of their own.
type TagStrategy struct {
	Tag      string
	Strategy Strategy
}

// StrategyOf returns the strategy that holds for a source: its own, if it has one, and
// otherwise the first in the list that is of one of its tags.
func StrategyOf(s Source, byTag []TagStrategy) Strategy {
	if !s.Strategy.IsZero() {
		return s.Strategy
	}
	for _, t := range byTag {
		if slices.Contains(s.Tags, t.Tag) {
			return t.Strategy
		}
	}
	return Strategy{}
}

// Apart reports whether no policy chooses polls of the source: it is paused, or it is
// polled by its strategy.
func (s *Source) Apart() bool { return s.Paused || !s.Strategy.IsZero() }
