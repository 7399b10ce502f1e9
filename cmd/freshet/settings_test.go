package main

import (
	"testing"
	"time"
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

func TestHarmlessKeepsTheTerminalSafe(t *testing.T) {
	if got, want := harmless("a\x1b]0;title\x07\tb\u202ec\x9b"), "a\uFFFD]0;title\uFFFD\tb\uFFFDc\uFFFD"; got != want {
		t.Errorf("harmless = %q, want %q", got, want)
	}
}
