package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"freshet/live"
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
			auto, learner, err := newPolicy(set, tickFor(len(web.Pages()), set.limits.Budget))
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
			policy, _ := end.policy.since(half.policy)
			rival, _ := end.rival.since(half.rival)
			t.Logf("seed %d: captured %.2f in the first half and %.2f in the second, the rival %.2f\n%s", seed, first, policy, rival, stage.course.minutes("auto"))
			if policy < rival+0.18 || policy < first {
				t.Errorf("seed %d: auto captured %.2f in the second half after %.2f in the first, and uniform %.2f; want far more than that, and no less than before", seed, policy, first, rival)
			}
		})
	}
}

func TestTickFollowsTheTurnOfTheSources(t *testing.T) {
	minute := sched.Budget{Polls: 60, Per: time.Minute}
	for _, c := range []struct {
		sources int
		budget  sched.Budget
		want    time.Duration
	}{
		{0, minute, time.Second},
		{15, minute, time.Second},
		{100, minute, 5 * time.Second},
		{1000, minute, time.Minute},
		{10_000, sched.Budget{Polls: 500, Per: time.Second}, time.Second},
		{1_000_000, sched.Budget{Polls: 1, Per: 365 * 24 * time.Hour}, time.Hour},
	} {
		if got := tickFor(c.sources, c.budget); got != c.want {
			t.Errorf("%d sources at %s are learnt by %v, want %v", c.sources, c.budget, got, c.want)
		}
	}
}
