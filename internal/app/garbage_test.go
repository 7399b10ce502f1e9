package app_test

import (
	"testing"

	"freshet/internal/app"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int{0: 100, 40 * mib: 100, 256 * mib: 100, 512 * mib: 50, 800 * mib: 30, 4096 * mib: 20} {
		if got := app.GCPercent(live); got != want {
			t.Errorf("with %d MiB live GOGC is %d, want %d", live/mib, got, want)
		}
	}
}
