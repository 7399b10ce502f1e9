package web

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
)

// A Duration is a time.Duration that is written as in "90s", "1h30m" or "2d".
type Duration time.Duration

const durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w))+)?$`

// parseDuration reads a length of time. An empty string is no time at all.
func parseDuration(s string) (Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := freshet.ParseDuration(s)
	return Duration(d), err
}

// String returns the duration without needless zeros, such as "1h" or "48h".
func (d Duration) String() string { return freshet.FormatHours(time.Duration(d)) }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = parseDuration(string(text))
	return err
}

// Schema implements [huma.SchemaProvider].
func (Duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Nullable: true,
		Pattern: durationPattern, PatternDescription: "a time such as 90s, 1h30m or 2d",
		Examples: []any{"1h30m"},
	}
}
