package main

import (
	"testing"
	"time"

	"freshet/client"
)

// The clock of a daemon can be ahead of ours: then it is not said for how long it runs.
func TestRunningSince(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		started time.Time
		want    string
	}{
		{noon.Add(-3 * time.Minute), "Freshet is running since 2026-03-01 11:57 (3m), version 7."},
		{noon.Add(time.Hour), "Freshet is running since 2026-03-01 13:00, version 7."},
	} {
		v := &statusView{now: noon}
		if got := v.running(client.Status{Running: true, Ready: true, StartedAt: tt.started, Version: "7"}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
