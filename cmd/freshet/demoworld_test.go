package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"freshet/live"
	"freshet/policy"
	"freshet/sched"
	"freshet/sqlite"
	"freshet/synth"
)

// Ten minutes in the demo's world take a moment here, because only the clock is not
// real: the daemon, the policy, the store and the judge are those of the demo.
func TestDemoShowsLearning(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			web := synth.Demo(seed, time.Now().Add(-demoAge))
			for _, s := range web.Sources() {
				if _, err := store.AddSource(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			var set settings
			set.policy = "auto"
			set.limits = sched.Limits{Budget: sched.Budget{Polls: 80, Per: time.Minute}, Hosts: sched.Politeness{Delay: 200 * time.Millisecond}}
			auto, learner, err := policy.Wire(set.policy, policy.InDaemon(set.policy, set.limits.Budget, len(web.Pages())))
			if err != nil {
				t.Fatal(err)
			}
			d := demo{settings: set, web: web, node: &node{store: store}, started: time.Now()}
			stage := d.newStage(0)
			watcher := live.New(live.Config{Store: store, Fetcher: web, Policy: auto, Learner: learner, Limits: set.limits})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- watcher.Run(ctx) }()
			var half, end demoMark
			for range 120 {
				time.Sleep(5 * time.Second)
				if _, err := stage.look(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				end = stage.course.marks[len(stage.course.marks)-1]
				if end.clock <= 300 {
					half = end
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			first, _ := half.policy.since(demoCount{})
			second, _ := end.policy.since(half.policy)
			rival, _ := end.rival.since(half.rival)
			t.Logf("seed %d: captured %.2f in the first half and %.2f in the second, the rival %.2f\n%s", seed, first, second, rival, stage.course.minutes("auto"))
			if second < rival+0.18 || second < first {
				t.Errorf("seed %d: auto captured %.2f in the second half after %.2f in the first, and uniform %.2f; want far more than that, and no less than before", seed, second, first, rival)
			}
		})
	}
}
