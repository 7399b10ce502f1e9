package delivery_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/client"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/units"
)

// However the wall clock is set, an endpoint is left alone for as long as it
// asked, in real time, and is then tried again.
func TestFollowerWhileTheClockIsSet(t *testing.T) {
	for words, by := range map[string]time.Duration{
		"an hour ahead": time.Hour, "an hour back": -time.Hour,
		"ten years ahead": 10 * 365 * units.Day, "ten years back": -10 * 365 * units.Day, "back to 1970": -30 * 365 * units.Day,
	} {
		for _, restarts := range []bool{false, true} {
			if restarts && by > 0 { // that cannot be told from having been away for so long
				continue
			}
			name := words
			if restarts {
				name += " between two runs"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					defer r.close()
					var ahead atomic.Int64
					wall := func(c *delivery.FollowerConfig) {
						c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())).Round(0) }
					}
					r.answers(func(client.Event) error { return &sinks.Refusal{Status: 503, RetryAfter: 3 * time.Hour} })
					stop := r.follow(wall)
					r.capture(page)
					synctest.Wait()
					time.Sleep(10 * time.Minute)
					if restarts {
						if err := stop(); err != nil {
							t.Fatal(err)
						}
					}
					ahead.Store(int64(by))
					if restarts {
						stop = r.follow(wall)
					}
					time.Sleep(10 * time.Hour)
					if err := stop(); err != nil {
						t.Fatal(err)
					}
					sent := r.sendings()
					if len(sent) != 4 {
						t.Fatalf("%d attempts in ten hours, want 4: one every three hours", len(sent))
					}
					doubt := time.Second
					if restarts { // it is not known how long ago the endpoint asked
						doubt += 10 * time.Minute
					}
					for i := 1; i < len(sent); i++ {
						if gap := sent[i].at.Sub(sent[i-1].at); gap < 3*time.Hour || gap > 3*time.Hour+doubt {
							t.Errorf("attempt %d came %v after the one before, want three hours", i+1, gap)
						}
					}
				})
			})
		}
	}
}
