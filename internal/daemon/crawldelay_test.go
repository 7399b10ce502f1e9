package daemon_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// courteous returns a daemon as it ships, on pages of one host that change every so
// often.
func courteous(t *testing.T, pages int, every time.Duration) (*synth.Web, daemon.Config) {
	limits := sched.DefaultLimits()
	chosen, learner, err := policy.Wire(policy.Default, policy.InDaemon(policy.Default, limits.Budget, pages))
	if err != nil {
		t.Fatal(err)
	}
	var list []synth.Page
	for i := range pages {
		list = append(list, synth.Page{ID: freshet.SourceID([]string{"a", "b", "c", "d", "e"}[i]), Host: "news", Schedule: synth.Regular{Every: every}})
	}
	w := synth.New(synth.Config{Latency: 50 * time.Millisecond, Now: time.Now, Pages: list})
	return w, daemon.Config{Fetcher: w, Policy: chosen, Learner: learner, Limits: limits}
}

// Pages that do not change are polled a few times, and less and less often. The one
// page was polled whenever the budget allowed.
func TestStaticPagesAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, pages := range []int{1, 5} {
		inBubble(t, func(t *testing.T, dir string) {
			w, cfg := courteous(t, pages, 1000*time.Hour)
			b := begin(t, dir, cfg, w.Sources()...)
			time.Sleep(30 * time.Minute)
			b.stop()
			at := map[freshet.SourceID][]time.Duration{}
			for _, r := range w.Requests() {
				at[r.Page] = append(at[r.Page], r.At.Sub(start))
			}
			if reads := len(at[""]); reads != 1 {
				t.Errorf("%d requests were for no page, want one for the robots.txt of the host", reads)
			}
			delete(at, "")
			for id, times := range at {
				early := 0
				for i, d := range times {
					if d <= 45*time.Second {
						early++
					}
					if i < 3 {
						continue
					}
					if gap, before := d-times[i-1], times[i-1]-times[i-2]; gap < before-2*time.Second {
						t.Errorf("%s was polled after %v, and %v before that: want gaps that grow", id, gap, before)
					}
				}
				t.Logf("%s of %d was polled at %v", id, pages, times)
				if early > 6 {
					t.Errorf("%s of %d was polled %d times in 45 seconds, want at most 6", id, pages, early)
				}
				if len(times) < 5 || len(times) > 16 {
					t.Errorf("%s of %d was polled %d times in half an hour, want 5 to 16", id, pages, len(times))
				}
			}
		})
	}
}

// A page that differs at every poll is told of once, also across a restart, and does
// not have more of the budget than its gap allows.
func TestNoisyPageIsToldOfOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		var log bytes.Buffer
		for range 2 {
			w, cfg := courteous(t, 1, time.Second)
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			b := begin(t, dir, cfg, w.Sources()...)
			time.Sleep(5 * time.Minute)
			got, err := b.store.Source(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if !got.Noisy() {
				t.Errorf("it is not said to be noisy after %d polls and %d changes", got.Status.Polls, got.Status.Changes)
			}
			if n := len(w.Requests()); n < 25 || n > 31 {
				t.Errorf("it was polled %d times in five minutes, want about 30", n)
			}
			b.stop()
		}
		if n := strings.Count(log.String(), "changes at almost every poll"); n != 1 {
			t.Errorf("that it is noisy was logged %d times, want once:\n%s", n, log.String())
		}
	})
}
