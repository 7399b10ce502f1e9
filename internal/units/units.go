// Package units parses and formats durations, rates, sizes and shares as users write them.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Day is a day of 24 hours, as durations count it.
const Day = 24 * time.Hour

const week = 7 * Day

// ParseDuration reads a length of time: a Go duration such as "90s" or "1h30m",
// and also days, weeks and years of 365 days, as in "7d", "1w2d12h" or "1y". It is never negative.
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a length of time, such as 30s, 15m, 1h30m, 30d or 2w", s)
	rest, total := strings.TrimSpace(s), time.Duration(0)
	if rest == "0" {
		return 0, nil
	}
	if rest == "" {
		return 0, bad
	}
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		rest = rest[len(number):]
		unit := rest
		if end := strings.IndexAny(rest, "0123456789."); end >= 0 {
			unit = rest[:end]
		}
		rest = rest[len(unit):]
		d, ok := parsePart(number, unit)
		if !ok || total+d < 0 {
			return 0, bad
		}
		total += d
	}
	return total, nil
}

// parsePart reads one number with its unit.
func parsePart(number, unit string) (time.Duration, bool) {
	var is time.Duration
	switch unit {
	case "y":
		is = 365 * Day
	case "d":
		is = Day
	case "w":
		is = week
	default:
		d, err := time.ParseDuration(number + unit)
		return d, err == nil
	}
	// The whole part is counted apart, because it can be more than a float holds.
	whole, fraction, dotted := strings.Cut(number, ".")
	if whole == "" && fraction == "" {
		return 0, false
	}
	n := int64(0)
	if whole != "" {
		var err error
		if n, err = strconv.ParseInt(whole, 10, 64); err != nil || n > math.MaxInt64/int64(is) {
			return 0, false
		}
	}
	d := time.Duration(n) * is
	if dotted && fraction != "" {
		f, err := strconv.ParseFloat("0."+fraction, 64)
		if err != nil {
			return 0, false
		}
		d += time.Duration(math.Round(f * float64(is)))
	}
	return d, d >= 0
}

// FormatDuration writes what ParseDuration reads, without needless zeros: "1h",
// not "1h0m0s". Whole days are written as days: "7d".
func FormatDuration(d time.Duration) string {
	if d != 0 && d%Day == 0 {
		return strconv.FormatInt(int64(d/Day), 10) + "d"
	}
	return FormatHours(d)
}

// FormatHours is FormatDuration, except that days are counted in hours: "48h",
// as the API and service levels are written.
func FormatHours(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ParsePer reads the time after the slash of a rate: "m" in 60/m, "30s" in
// 10/30s, "day" in 5000/day. It is never zero.
func ParsePer(s string) (time.Duration, error) {
	switch s {
	case "s", "sec", "second":
		return time.Second, nil
	case "m", "min", "minute":
		return time.Minute, nil
	case "h", "hour":
		return time.Hour, nil
	case "d", "day":
		return Day, nil
	case "w", "week":
		return week, nil
	}
	d, err := ParseDuration(s)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q must be longer than 0s", s)
	}
	return d, err
}

// FormatPer writes what ParsePer reads, in its shortest form.
func FormatPer(d time.Duration) string {
	switch d {
	case time.Second:
		return "s"
	case time.Minute:
		return "m"
	case time.Hour:
		return "h"
	case Day:
		return "d"
	}
	return FormatDuration(d)
}

// A sizeUnit is a unit of bytes.
type sizeUnit struct {
	name string
	is   int64
}

// sizeUnits returns the units of bytes, those of a thousand before those of
// 1024, and the larger ones first.
func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3},
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	}
}

// ParseSize reads a number of bytes such as "10GB", "512 MiB", "64k" or "4096".
func ParseSize(s string) (int64, error) {
	bad := fmt.Errorf("%q is not a size, such as 10GB, 512MiB, 64kB or a number of bytes", s)
	text := strings.TrimSpace(s)
	end := strings.LastIndexAny(text, "0123456789.") + 1
	unit := int64(0)
	switch name := strings.TrimSpace(text[end:]); strings.ToLower(name) {
	case "", "b":
		unit = 1
	default:
		for _, u := range sizeUnits() {
			if strings.EqualFold(name, u.name) || strings.EqualFold(name, strings.TrimSuffix(u.name, "B")) {
				unit = u.is
			}
		}
	}
	if unit == 0 {
		return 0, bad
	}
	// A whole number is read as one: it can have more digits than a float holds.
	if n, err := strconv.ParseInt(text[:end], 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/2/unit {
		return n * unit, nil
	}
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || !(n >= 0) || n*float64(unit) >= math.MaxInt64/2 {
		return 0, bad
	}
	return int64(n * float64(unit)), nil
}

// FormatSize writes what ParseSize reads, without loss.
func FormatSize(n int64) string {
	best := strconv.FormatInt(n, 10)
	for _, u := range sizeUnits() {
		if s := strconv.FormatInt(n/u.is, 10) + u.name; n != 0 && n%u.is == 0 && len(s) < len(best) {
			best = s
		}
	}
	return best
}

// ParseShare reads a share of something, such as "10%" or "0.1", from none to all.
func ParseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0) || x > 1 {
		return 0, fmt.Errorf("%q is not a share from 0%% to 100%%, such as 10%% or 0.1", s)
	}
	return x, nil
}

// FormatShare writes a share as ParseShare reads it, as a percentage.
func FormatShare(x float64) string {
	return strconv.FormatFloat(x*100, 'g', 6, 64) + "%"
}
