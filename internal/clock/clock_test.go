package clock_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/clock"
)

// Steady time passes as real time does, however the wall clock is set; dates are
// those of the wall clock.
func TestSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set time.Duration
		wall := func() time.Time { return time.Now().Add(set).Round(0) }
		c := clock.New(wall)
		began := c.Now()
		for _, by := range []time.Duration{0, time.Hour, -3 * time.Hour, 100_000 * time.Hour, -300_000 * time.Hour, 2 * time.Second, -time.Minute} {
			set += by
			time.Sleep(time.Minute)
			if got, want := c.Now(), time.Now(); !got.Equal(want) {
				t.Errorf("set by %v, the steady time is %v, want %v", set, got.Sub(began), want.Sub(began))
			}
			if got := c.Ahead(); got != set {
				t.Errorf("the wall clock is %v ahead, want %v", got, set)
			}
			if got := c.Date(c.Now()); !got.Equal(wall()) {
				t.Errorf("now is dated %v, want %v", got, wall())
			}
			if got := c.Steady(wall()); !got.Equal(time.Now()) {
				t.Errorf("the date of now was %v, want %v", got, time.Now())
			}
		}
		if got := c.Date(time.Time{}); !got.IsZero() {
			t.Errorf("no time is dated %v", got)
		}
	})
}

// A wall clock that drifts is followed in steps of a second, and never further off.
func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set time.Duration
		c := clock.New(func() time.Time { return time.Now().Add(set).Round(0) })
		before, steps := time.Duration(0), 0
		for set < 10*time.Second {
			set += 100 * time.Millisecond
			got := c.Ahead()
			if got != before {
				before, steps = got, steps+1
			}
			if off := set - got; off < 0 || off > time.Second {
				t.Fatalf("the wall clock is %v ahead, and said to be %v", set, got)
			}
		}
		if steps != 9 {
			t.Errorf("a drift of 10 s makes %d steps, want 9", steps)
		}
	})
}

func TestUptime(t *testing.T) {
	boot, up := clock.Uptime()
	again, later := clock.Uptime()
	if boot != again || later < up {
		t.Errorf("uptime goes from %v of %q to %v of %q", up, boot, later, again)
	}
	if runtime.GOOS == "linux" && (boot == "" || up <= 0) {
		t.Errorf("up %v, boot %q", up, boot)
	}
}
