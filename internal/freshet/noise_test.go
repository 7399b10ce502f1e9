package freshet_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
)

func TestNoisy(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name    string
		polls   int64
		changes int
		gap     time.Duration // between two polls
		quiet   int           // polls since the last change
		noisy   bool
		just    bool // the last poll made it so
	}{
		{name: "never polled"},
		{name: "polled once", polls: 1},
		{name: "too few polls", polls: 10, changes: 9, gap: time.Minute},
		{name: "every poll", polls: 11, changes: 10, gap: time.Minute, noisy: true, just: true},
		{name: "every poll for long", polls: 1001, changes: 1000, gap: 10 * time.Second, noisy: true},
		{name: "nine in ten", polls: 101, changes: 90, gap: time.Minute, noisy: true, just: true},
		{name: "fewer than nine in ten", polls: 101, changes: 89, gap: time.Minute},
		{name: "never", polls: 1001, gap: time.Minute},
		{name: "polls that are far apart may all be right", polls: 101, changes: 100, gap: 2 * time.Hour},
		{name: "it went quiet a moment ago", polls: 1004, changes: 1000, gap: time.Minute, quiet: 3, noisy: true},
		{name: "it went quiet", polls: 1007, changes: 1000, gap: time.Minute, quiet: 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := freshet.SourceWithStatus{Source: freshet.Source{Created: start}}
			w.Status.Polls, w.Status.Changes = tt.polls, tt.changes
			w.Status.Seen = start.Add(time.Duration(max(0, tt.polls-1)) * tt.gap)
			w.Status.ChangedAt = w.Status.Seen.Add(-time.Duration(tt.quiet) * tt.gap)
			if got := w.Noisy(); got != tt.noisy {
				t.Errorf("noisy: %v, want %v", got, tt.noisy)
			}
			if got := tt.quiet == 0 && w.BecameNoisy(); got != tt.just {
				t.Errorf("made noisy by the last poll: %v, want %v", got, tt.just)
			}
		})
	}
}
