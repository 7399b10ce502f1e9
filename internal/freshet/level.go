package freshet

import (
	"freshet/internal/invalid"
	"freshet/internal/units"
	"strconv"
	"strings"
	"time"
)

// A ServiceLevel is what somebody wants of a source: that the share Share of
// its changes is seen within Within. The zero ServiceLevel wants nothing.
type ServiceLevel struct {
	Share  float64 // above 0 and below 1
	Within time.Duration
}

// ParseServiceLevel reads a level such as "90% within 10m". An empty string
// is the zero level.
func ParseServiceLevel(s string) (ServiceLevel, error) {
	if strings.TrimSpace(s) == "" {
		return ServiceLevel{}, nil
	}
	bad := func(why string) (ServiceLevel, error) {
		return ServiceLevel{}, invalid.Errorf("level", "%q %s; use a form such as \"90%% within 10m\"", s, why)
	}
	share, within, ok := strings.Cut(s, " within ")
	if !ok {
		return bad("is not a service level")
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(share), "%"), 64)
	if err != nil || !(percent > 0) || percent >= 100 {
		return bad("needs a share between 0% and 100%")
	}
	d, err := units.ParseDuration(within)
	if err != nil || d < time.Second {
		return bad("needs a time of at least 1s, such as 30s, 10m, 6h or 1d")
	}
	return ServiceLevel{Share: percent / 100, Within: d}, nil
}

// String returns the level as ParseServiceLevel reads it.
func (l ServiceLevel) String() string {
	if l == (ServiceLevel{}) {
		return ""
	}
	// The shortest text that gives the same share back: a percentage times a
	// hundredth is not always the number one expects.
	percent := strconv.FormatFloat(l.Share*100, 'f', -1, 64)
	for digits := range 17 {
		short := strconv.FormatFloat(l.Share*100, 'f', digits, 64)
		if x, err := strconv.ParseFloat(short, 64); err == nil && x/100 == l.Share {
			percent = short
			break
		}
	}
	return percent + "% within " + units.FormatHours(l.Within)
}
