package freshet_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
)

// TestChangeAt dates a change by its source if that date is possible.
func TestChangeAt(t *testing.T) {
	after := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	before := after.Add(time.Hour)
	for _, tt := range []struct{ modified, want time.Time }{
		{time.Time{}, before}, {after, before}, {after.Add(time.Minute), after.Add(time.Minute)}, {before, before}, {before.Add(time.Second), before},
	} {
		if got := (freshet.Change{After: after, Before: before, Modified: tt.modified}).At(); !got.Equal(tt.want) {
			t.Errorf("modified %v: %v, want %v", tt.modified, got, tt.want)
		}
	}
}
