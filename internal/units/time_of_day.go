package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
)

// A TimeOfDay is a local time, in minutes after midnight.
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

// Weekdays are the names of the days of a week, by their time.Weekday.
var Weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// CheckZone checks the name of a time zone. "Local" is refused: a setting must mean the same on
// every machine.
func CheckZone(field, name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return invalid.Errorf(field, "%.80q is not a time zone, such as Europe/Berlin or UTC", name)
	}
	return nil
}
