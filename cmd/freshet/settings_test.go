package main

import (
	"strings"
	"testing"
	"time"

	"freshet/config"
)

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
		s := config.Defaults(p.env)
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
