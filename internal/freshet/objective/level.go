package objective

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// A ServiceLevel asks that the share Share of the changes of a source is captured within
// Within. The zero ServiceLevel asks nothing.
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

// Stricter reports whether l takes more polls to keep than o. What counts is
// the time between polls that would do for a log, in which every change waits
// for the next poll: the time allowed, over the share. Of two levels for which
// that is the same, the one with the greater share is stricter.
func (l ServiceLevel) Stricter(o ServiceLevel) bool {
	if l == (ServiceLevel{}) || o == (ServiceLevel{}) {
		return l != ServiceLevel{}
	}
	gap := func(l ServiceLevel) float64 { return l.Within.Seconds() / l.Share }
	return cmp.Or(cmp.Compare(gap(l), gap(o)), cmp.Compare(o.Share, l.Share)) < 0
}

// Gap returns the longest time between polls, in seconds, that keeps the level of a
// source with Poisson changes at a rate per second and the given visibility.
func (l ServiceLevel) Gap(life Visibility, rate float64) float64 {
	within := l.Within.Seconds()
	if life.Kind == VisibleFor {
		within = min(within, life.For.Seconds())
	}
	longest := within / l.Share // if every change waits for the next poll
	if life.Kind == VisibleForever || life.Kind == VisibleFor || !(rate > 0) {
		return longest
	}
	last := 1
	if life.Kind == VisibleLast {
		last = max(1, life.N)
	}
	inTime := func(gap float64) float64 { return waitFor(rate*min(gap, within), last) / (rate * gap) }
	low, high := 0.0, longest
	for range 60 {
		if mid := (low + high) / 2; inTime(mid) >= l.Share {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// waitFor returns how many of the changes of a time, in which x are expected, are
// still among the last n at its end.
func waitFor(x float64, n int) (sum float64) {
	exactly, fewer := math.Exp(-x), 0.0
	for z := range n {
		fewer += exactly
		sum += max(0, 1-fewer)
		exactly *= x / float64(z+1)
	}
	return sum
}
