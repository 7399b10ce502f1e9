package demo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/app/demo"
	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// Ten minutes in the demo's world take a moment here, because only the clock is not
// real: the daemon, the policy, the store and the judge are those of the demo.
func TestDemoShowsLearning(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			web := synth.Demo(seed, time.Now().Add(-demo.Age))
			for _, s := range web.Sources() {
				if _, err := store.AddSource(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			limits := sched.Limits{Budget: sched.Budget{Polls: 80, Per: time.Minute}, Hosts: sched.Politeness{Delay: 200 * time.Millisecond}}
			auto, learner, err := policy.Wire("auto", policy.InDaemon("auto", limits.Budget, len(web.Pages())))
			if err != nil {
				t.Fatal(err)
			}
			s := demo.New(store, web, "auto", limits, time.Now(), 0)
			watcher := daemon.New(daemon.Config{Store: store, Fetcher: web, Policy: auto, Learner: learner, Limits: limits})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- watcher.Run(ctx) }()
			var half, end demo.Scene
			for i := range 120 {
				time.Sleep(5 * time.Second)
				if end, err = s.Look(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				if i == 59 {
					half = end
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			captured := func(from, to demo.Score) float64 {
				return float64(to.Captured-from.Captured) / float64(to.Captured+to.Missed-from.Captured-from.Missed)
			}
			first, second, rival := captured(demo.Score{}, half.Score), captured(half.Score, end.Score), captured(half.Rival, end.Rival)
			t.Logf("seed %d: captured %.2f in the first half and %.2f in the second, the rival %.2f\n%.2v", seed, first, second, rival, s.Course.Minutes())
			if second < rival+0.18 || second < first {
				t.Errorf("seed %d: auto captured %.2f in the second half after %.2f in the first, and uniform %.2f; want far more than that, and no less than before", seed, second, first, rival)
			}
		})
	}
}
