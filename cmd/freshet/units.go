package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// parseDuration reads Go durations such as "90s" or "1h30m" with days and
// weeks in front: "30d", "2w", "1d12h".
func parseDuration(s string) (time.Duration, error) {
	rest, total := strings.TrimSpace(s), time.Duration(0)
	bad := fmt.Errorf("%q is not a length of time; write 30s, 15m, 1h30m, 30d or 2w", s)
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"w", 7 * day}, {"d", day}} {
		count, after, ok := strings.Cut(rest, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(count, 64)
		if err != nil || !(n >= 0) || n*float64(unit.is) > math.MaxInt64/2 {
			return 0, bad
		}
		total += time.Duration(n * float64(unit.is))
		rest = after
	}
	if rest == "" && total > 0 || rest == "0" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || total+d < 0 {
		return 0, bad
	}
	return total + d, nil
}

// formatDuration writes what parseDuration reads, without needless zeros.
func formatDuration(d time.Duration) string {
	if d != 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// sizes are the units of bytes, those of a thousand before those of 1024, the
// larger ones first.
var sizes = []struct {
	name string
	is   int64
}{
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3},
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
}

// parseSize reads a number of bytes such as "10GB", "512 MiB", "64k" or "4096".
func parseSize(s string) (int64, error) {
	bad := fmt.Errorf("%q is not a size; write 10GB, 512MiB, 64kB or a number of bytes", s)
	text := strings.TrimSpace(s)
	end := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || !(n >= 0) {
		return 0, bad
	}
	unit := int64(0)
	switch name := strings.TrimSpace(text[end:]); strings.ToLower(name) {
	case "", "b":
		unit = 1
	default:
		for _, u := range sizes {
			if strings.EqualFold(name, u.name) || strings.EqualFold(name, strings.TrimSuffix(u.name, "B")) {
				unit = u.is
			}
		}
	}
	if unit == 0 || n*float64(unit) >= math.MaxInt64/2 {
		return 0, bad
	}
	return int64(n * float64(unit)), nil
}

// formatSize writes what parseSize reads, without loss.
func formatSize(n int64) string {
	best := strconv.FormatInt(n, 10)
	for _, u := range sizes {
		if s := strconv.FormatInt(n/u.is, 10) + u.name; n != 0 && n%u.is == 0 && len(s) < len(best) {
			best = s
		}
	}
	return best
}

// roughSize writes a size for people.
func roughSize(n int64) string {
	for _, u := range sizes[:4] {
		if n >= u.is {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.is), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// roughDuration writes a length of time for people, in one unit or two.
func roughDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// ago says for people how long before now something was.
func ago(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "never"
	case now.Sub(t) < time.Second:
		return "just now"
	}
	return roughDuration(now.Sub(t)) + " ago"
}
