package client

import (
	"time"

	"freshet/internal/units"
)

// A Duration is a time.Duration that is written as in "90s", "1h30m" or "2d".
type Duration time.Duration

// String returns the duration without needless zeros, such as "1h" or "48h".
func (d Duration) String() string { return units.FormatHours(time.Duration(d)) }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. An empty text is no time
// at all.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	read, err := units.ParseDuration(string(text))
	*d = Duration(read)
	return err
}
