package web

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// A Duration is a time.Duration that is written as in "90s", "1h30m" or "2d".
type Duration time.Duration

// days are the units that time.ParseDuration does not know.
var days = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)(d|w)`)

const durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w))+)?$`

// ParseDuration reads what String wrote, and also days ("1d") and weeks
// ("2w"). An empty string and "0" are no time at all.
func ParseDuration(s string) (Duration, error) {
	if s == "" {
		return 0, nil
	}
	hours := days.ReplaceAllStringFunc(s, func(part string) string {
		n, _ := strconv.ParseFloat(part[:len(part)-1], 64)
		if strings.HasSuffix(part, "w") {
			n *= 7
		}
		return strconv.FormatFloat(n*24, 'f', -1, 64) + "h"
	})
	d, err := time.ParseDuration(hours)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time such as 90s, 1h30m or 2d", s)
	}
	return Duration(d), nil
}

// String returns the duration without trailing zero units, such as "1h".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
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
