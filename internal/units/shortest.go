package units

import (
	"time"

	"freshet/internal/invalid"
)

// CheckShortest reports a length of time that is set and shorter than makes sense.
func CheckShortest(field string, d, shortest time.Duration) error {
	if d != 0 && d < shortest {
		return invalid.Errorf(field, "%s is too short; the shortest allowed is %s", FormatDuration(d), FormatDuration(shortest))
	}
	return nil
}
