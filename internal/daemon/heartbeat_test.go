package daemon_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
	"freshet/internal/units"
)

// A clock that is set ten years ahead does not make the history old at once: not
// while the daemon runs, nor at a restart. When it has stayed there for half a
// day, that is the time.
func TestPruneByAgeWaitsForTheClock(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w, wall := page(0, time.Hour), &wallClock{}
				run := func() *bench {
					return begin(t, dir, daemon.Config{
						Fetcher: w, Now: wall.Now, History: daemon.HistoryConfig{Keep: freshet.Keep{Age: 12 * time.Hour}, Logs: 24 * time.Hour},
						Limits: sched.Limits{Budget: sched.Budget{Polls: 4, Per: time.Hour}},
					}, w.Sources()...)
				}
				b := run()
				versions := func() int {
					t.Helper()
					found, err := b.store.Versions(t.Context(), "page", freshet.Between{}, 0, 1000)
					if err != nil {
						t.Fatal(err)
					}
					return len(found)
				}
				time.Sleep(3*units.Day + time.Minute/2)
				if n := versions(); n < 12 || n > 14 {
					t.Fatalf("%d versions are kept of an hour each, want those of the last 12 hours", n)
				}
				wall.set(10 * 365 * units.Day)
				for hour := range 11 {
					if restart {
						b.stop()
						b = run()
					}
					time.Sleep(time.Hour)
					if n, want := versions(), 12+hour; n < want {
						t.Fatalf("%d versions are left %d hours after the clock was set ahead, want %d", n, hour+1, want)
					}
				}
				time.Sleep(3 * time.Hour)
				if n := versions(); n < 12 || n > 15 {
					t.Errorf("%d versions are kept when the clock has not been set for 14 hours, want those of the last 12", n)
				}
				wall.set(-10 * 365 * units.Day)
				time.Sleep(20 * time.Hour)
				b.stop()
			})
		})
	}
}

// A bound on the history of a source is applied within seconds of its being set.
// It took up to an hour.
func TestBoundIsAppliedSoon(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Hour)
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 4, Per: time.Hour}}}, w.Sources()...)
		defer b.stop()
		time.Sleep(12*time.Hour + 30*time.Minute)
		source, err := b.store.Source(t.Context(), "page")
		if err != nil {
			t.Fatal(err)
		}
		source.Keep.Versions, source.Revision = 2, 0
		if _, err := b.UpdateSource(t.Context(), source.Source); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		found, err := b.store.Versions(t.Context(), "page", freshet.Between{}, 0, 1000)
		if err != nil || len(found) != 2 {
			t.Errorf("ten seconds after keep.versions was set to 2 there are %d: %v", len(found), err)
		}
	})
}
