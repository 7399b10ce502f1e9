package units_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/units"
)

const day = units.Day

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration // negative: refused
	}{
		{"30s", 30 * time.Second},
		{" 30s ", 30 * time.Second},
		{"1h30m", 90 * time.Minute},
		{"1.5h", 90 * time.Minute},
		{"250ms", 250 * time.Millisecond},
		{"7µs", 7 * time.Microsecond},
		{"30d", 30 * day},
		{"2w", 14 * day},
		{"1w2d", 9 * day},
		{"1w1d1h", 8*day + time.Hour},
		{"1h1d", day + time.Hour},
		{"0.5d", 12 * time.Hour},
		{".5d", 12 * time.Hour},
		{"1.5d", 36 * time.Hour},
		{"0.1d", 8640 * time.Second},
		{"0", 0},
		{"0s", 0},
		{"0d", 0},
		{"106751d23h47m16.854775807s", math.MaxInt64},
		{"106751d23h47m16.854775808s", -1},
		{"2562047h47m16.854775808s", -1},
		{"106752d", -1},
		{"106751.9999d", -1},
		{"300000w", -1},
		{"", -1}, {" ", -1}, {"d", -1}, {".d", -1}, {"s", -1}, {".", -1},
		{"5", -1}, {"1y", 365 * units.Day}, {"1yd", -1}, {"1 d", -1}, {"1d 2h", -1}, {"1d2", -1}, {"soon", -1},
		{"-1h", -1}, {"-1d", -1}, {"1d-2h", -1}, {"1h-1m", -1}, {"+1h", -1}, {"+1d", -1},
		{"1e300d", -1}, {"NaNd", -1}, {"1.2.3d", -1}, {"1.2.3h", -1},
	}
	for _, tt := range tests {
		got, err := units.ParseDuration(tt.text)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1m": time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "1h0m1s": time.Hour + time.Second,
		"10m": 10 * time.Minute, "20h": 20 * time.Hour, "1d": day, "7d": 7 * day, "25h": 25 * time.Hour, "1.5s": 1500 * time.Millisecond,
	} {
		if got := units.FormatDuration(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
	for want, d := range map[string]time.Duration{"0s": 0, "1h": time.Hour, "48h": 2 * day, "1m30s": 90 * time.Second} {
		if got := units.FormatHours(d); got != want {
			t.Errorf("%v is written %q in hours, want %q", d, got, want)
		}
	}
}

func TestParsePer(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"s": time.Second, "sec": time.Second, "second": time.Second, "m": time.Minute, "min": time.Minute, "minute": time.Minute,
		"h": time.Hour, "hour": time.Hour, "d": day, "day": day, "w": 7 * day, "week": 7 * day, "30s": 30 * time.Second, "2d": 2 * day, "50ms": 50 * time.Millisecond,
	} {
		if got, err := units.ParsePer(text); err != nil || got != want {
			t.Errorf("per %s is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0s", "-1s", "fortnight", "60"} {
		if got, err := units.ParsePer(text); err == nil {
			t.Errorf("per %q is %v", text, got)
		}
	}
	for want, d := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "7d": 7 * day, "30s": 30 * time.Second, "2h": 2 * time.Hour} {
		if got := units.FormatPer(d); got != want {
			t.Errorf("per %v is written %q, want %q", d, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	tests := []struct {
		text string
		want int64 // negative: refused
	}{
		{"10GB", 10e9}, {"512 MiB", 512 << 20}, {"64k", 64e3}, {"64Ki", 64 << 10}, {"4096", 4096}, {"1.5mb", 1.5e6}, {"0", 0}, {"7b", 7}, {"2TiB", 2 << 40},
		{"4611686018427387903", math.MaxInt64 / 2}, {"9007199254740993", 1<<53 + 1},
		{"", -1}, {"GB", -1}, {"10 XB", -1}, {"-1", -1}, {"9e99", -1}, {"99999999999TB", -1}, {"4611686018427387904", -1},
	}
	for _, tt := range tests {
		got, err := units.ParseSize(tt.text)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("ParseSize(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for want, n := range map[string]int64{"0": 0, "1": 1, "999": 999, "1kB": 1000, "1MiB": 1 << 20, "1024": 1024, "10MB": 10e6, "512MiB": 512 << 20, "2TB": 2e12, "1000001": 1000001} {
		if got := units.FormatSize(n); got != want {
			t.Errorf("%d bytes are written %q, want %q", n, got, want)
		}
	}
}

// What is printed of settings must be read as the same settings.
func TestUnitsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "duration"))
		unit := rapid.SampledFrom([]time.Duration{1, time.Second, time.Minute, time.Hour, day}).Draw(t, "unit")
		d = d.Truncate(unit)
		if got, err := units.ParseDuration(units.FormatDuration(d)); err != nil || got != d {
			t.Errorf("%v is written %q and read as %v, %v", d, units.FormatDuration(d), got, err)
		}
		if got, err := units.ParsePer(units.FormatPer(d)); d > 0 && (err != nil || got != d) {
			t.Errorf("per %v is written %q and read as %v, %v", d, units.FormatPer(d), got, err)
		}
		n := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "size")
		if rapid.Bool().Draw(t, "round") {
			n = n >> 20 << 20
		}
		if got, err := units.ParseSize(units.FormatSize(n)); err != nil || got != n {
			t.Errorf("%d is written %q and read as %v, %v", n, units.FormatSize(n), got, err)
		}
	})
}

// The durations of Go and those of Freshet agree where both can be read.
func FuzzUnits(f *testing.F) {
	for _, text := range []string{"1w2d", "1h30m", "10GB", "0.5d", "2562047h47m16.854775807s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := units.ParseDuration(s)
		if err == nil {
			if again, err := units.ParseDuration(units.FormatDuration(d)); d < 0 || err != nil || again != d {
				t.Errorf("%q is %v, which reads as %v, %v", s, d, again, err)
			}
		}
		if of, goErr := time.ParseDuration(s); err == nil && goErr == nil && of != d {
			t.Errorf("%q is %v, and to Go %v", s, d, of)
		}
		if n, err := units.ParseSize(s); err == nil {
			if again, err := units.ParseSize(units.FormatSize(n)); n < 0 || err != nil || again != n {
				t.Errorf("%q is %d, which reads as %d, %v", s, n, again, err)
			}
		}
	})
}
