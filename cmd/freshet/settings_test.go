package main

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration // negative: refused
	}{
		{"30s", 30 * time.Second},
		{"1h30m", 90 * time.Minute},
		{"30d", 30 * day},
		{"2w", 14 * day},
		{"1w1d1h", 8*day + time.Hour},
		{"0.5d", 12 * time.Hour},
		{"0", 0},
		{"0d", -1},
		{"", -1},
		{"d", -1},
		{"-1h", -1},
		{"-1d", -1},
		{"1d-2h", -1},
		{"5", -1},
		{"1e300d", -1},
		{"NaNd", -1},
	}
	for _, tt := range tests {
		got, err := parseDuration(tt.text)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("parseDuration(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	tests := []struct {
		text string
		want int64 // negative: refused
	}{
		{"10GB", 10e9}, {"512 MiB", 512 << 20}, {"64k", 64e3}, {"64Ki", 64 << 10}, {"4096", 4096}, {"1.5mb", 1.5e6}, {"0", 0}, {"7b", 7},
		{"", -1}, {"GB", -1}, {"10 XB", -1}, {"-1", -1}, {"9e99", -1}, {"99999999999TB", -1},
	}
	for _, tt := range tests {
		got, err := parseSize(tt.text)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("parseSize(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

// What is printed of settings must be read as the same settings.
func TestUnitsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(3650*day)).Draw(t, "duration"))
		if rapid.Bool().Draw(t, "whole") {
			d = d.Truncate(time.Hour)
		}
		if got, err := parseDuration(formatDuration(d)); err != nil || got != d {
			t.Errorf("%v is written %q and read as %v, %v", d, formatDuration(d), got, err)
		}
		n := rapid.Int64Range(0, 1<<50).Draw(t, "size")
		if rapid.Bool().Draw(t, "round") {
			n = n >> 20 << 20
		}
		if got, err := parseSize(formatSize(n)); err != nil || got != n {
			t.Errorf("%d is written %q and read as %v, %v", n, formatSize(n), got, err)
		}
	})
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, before := range map[string]time.Duration{
		"just now": 300 * time.Millisecond, "59s ago": 59 * time.Second, "3m ago": 200 * time.Second,
		"47h ago": 47*time.Hour + 30*time.Minute, "2d ago": 48 * time.Hour,
	} {
		if got := ago(now.Add(-before), now); got != want {
			t.Errorf("%v before is %q, want %q", before, got, want)
		}
	}
	if got := ago(time.Time{}, now); got != "never" {
		t.Errorf("the zero time is %q, want never", got)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"budget", "listen", "sources", "hosts", "id"}
	for word, want := range map[string]string{
		"budgett": "budget", "bugdet": "budget", "lisen": "listen", "source": "sources", "di": "id", "zebra": "", "": "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestHarmlessKeepsTheTerminalSafe(t *testing.T) {
	if got, want := harmless("a\x1b]0;title\x07\tb\u202ec\x9b"), "a\uFFFD]0;title\uFFFD\tb\uFFFDc\uFFFD"; got != want {
		t.Errorf("harmless = %q, want %q", got, want)
	}
}

// FuzzDocument holds the reader of the file to what must be true of any file:
// it ends without a panic, and whatever it complains of has a place that can be
// shown.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"budget: 60/m\n", "sources:\n  - https://example.com/\n  - {url: x, select: {css: a}}\n", "a: &b [*b]\nkeep: *b\n",
		"sources: [{<<: {url: x}}]", "? [a]\n: b\n", "--- 1\n--- 2\n", "budget: !!int 3", "keep: {age: |\n  30d\n}", "\t", "webhooks: [{name: a, url: b, secret: c}]",
		"hosts:\n", "sources: [null]", "log: {level: &x info, format: *x}", "fetch: {ports: [80, x]}", "\xff\xfe",
	} {
		f.Add(seed)
	}
	p := &program{env: func(string) string { return "" }}
	f.Fuzz(func(t *testing.T, text string) {
		s := p.defaults()
		d := readDocument("f.yaml", []byte(text), &s, p.env)
		d.admit(&s)
		d.admitHooks(&s)
		err := d.err()
		if err == nil {
			return
		}
		for _, p := range d.problems {
			if p.line < 1 || p.col < 1 || strings.TrimSpace(p.text) == "" {
				t.Errorf("problem without a place or a text: %+v", p)
			}
		}
		if d.Details() == "" || err.Error() == "" {
			t.Error("nothing is said of the problems")
		}
	})
}
