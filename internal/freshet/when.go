package freshet

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/units"
)

// ParseTime reads a time as users write it: a time such as "2026-11-01T08:00:00Z", a
// time or a date in a zone, such as "2026-11-01 08:00" or "2026-11-01", or how long
// before now, such as "2d". A date is its beginning.
func ParseTime(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if d, err := units.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a time, such as 2026-11-01 or 2026-11-01T08:00:00Z, nor a length of time before now, such as 30d", text)
}

// A Between is the interval from Since up to but not including Until. Zero means no bound.
type Between struct{ Since, Until time.Time }

// IsZero reports whether the interval has no bounds.
func (s Between) IsZero() bool { return s.Since.IsZero() && s.Until.IsZero() }

// Has reports whether t lies in the interval.
func (s Between) Has(t time.Time) bool {
	return (s.Since.IsZero() || !t.Before(s.Since)) && (s.Until.IsZero() || t.Before(s.Until))
}

// VersionAt returns the version of a source at a moment: the newest that was seen no later
// and is not in quarantine, or ErrNotFound.
func VersionAt(ctx context.Context, log VersionLog, id SourceID, at time.Time) (Version, error) {
	const page = 10
	for before := 0; ; {
		found, err := log.Versions(ctx, id, Between{Until: at.Add(1)}, before, page)
		if err != nil {
			return Version{}, err
		}
		for _, v := range found {
			if v.Quiet != QuietSuspect {
				return v, nil
			}
		}
		if len(found) < page {
			return Version{}, fmt.Errorf("a version of source %s at %s: %w", id, at.UTC().Format(time.RFC3339), ErrNotFound)
		}
		before = found[len(found)-1].Number
	}
}
