package daemon_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab/synth"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// Levels that the budget cannot keep raise one alarm, and one word when they
// are kept again.
func TestLevelAlarm(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		var log bytes.Buffer
		w := synth.New(synth.Config{Start: time.Now(), Now: time.Now, Pages: []synth.Page{
			{ID: "a", Host: "x", Schedule: synth.Regular{Every: time.Minute}},
			{ID: "b", Host: "y", Schedule: synth.Regular{Every: time.Minute}},
		}})
		list := w.Sources()
		list[0].Level = objective.ServiceLevel{Share: 0.9, Within: time.Minute}
		list[1].Tags = []string{"slow"}
		slow := sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Minute}}
		b := begin(t, dir, daemon.Config{
			Fetcher: w, Limits: slow, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Levels: []freshet.TagLevel{{Tag: "slow", Level: objective.ServiceLevel{Share: 0.9, Within: 24 * time.Hour}}},
		}, list...)
		defer b.stop()
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		if l := b.Levels(); l.Set != 2 || l.Unmet == 0 || l.Need <= l.Budget {
			t.Errorf("after five minutes the levels are %+v", l)
		}
		if n := strings.Count(log.String(), "service levels are not met"); n != 1 {
			t.Errorf("there were %d alarms, want one:\n%s", n, log.String())
		}
		b.SetLimits(sched.Limits{Budget: sched.Budget{Polls: 100, Per: time.Minute}})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if l := b.Levels(); l.Unmet != 0 {
			t.Errorf("with a greater budget the levels are %+v", l)
		}
		if n := strings.Count(log.String(), "service levels are met again"); n != 1 {
			t.Errorf("that the levels are kept again was said %d times, want once", n)
		}
		a, err := b.store.Source(t.Context(), list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		a.Level = objective.ServiceLevel{}
		if _, err := b.UpdateSource(t.Context(), a.Source); err != nil {
			t.Fatal(err)
		}
		b.SetLevels(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if l := b.Levels(); l != (daemon.LevelStatus{}) {
			t.Errorf("without any level the levels are %+v", l)
		}
	})
}

// What is expected of sources follows what polls have seen of them, whether the
// policy learns or not.
func TestProspects(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"round-robin", "auto:least_chance=0%"} {
		t.Run(name, func(t *testing.T) { expectedOfSources(t, name) })
	}
}

func expectedOfSources(t *testing.T, name string) {
	inBubble(t, func(t *testing.T, dir string) {
		p, err := policy.New(name, policy.Setting{Instant: time.Second, Polls: 0.05, Start: start})
		if err != nil {
			t.Fatal(err)
		}
		w := synth.New(synth.Config{Start: time.Now(), Now: time.Now, Pages: []synth.Page{
			{ID: "busy", Host: "x", Schedule: synth.Poisson{Mean: time.Minute}},
			{ID: "calm", Host: "y", Schedule: synth.Poisson{Mean: 20 * time.Minute}},
			{ID: "dead", Host: "y"},
			{ID: "paused", Host: "z"},
		}})
		list := w.Sources()
		list[3].Paused = true
		b := begin(t, dir, daemon.Config{Fetcher: w, Policy: p, Limits: sched.Limits{Budget: sched.Budget{Polls: 3, Per: time.Minute}}}, list...)
		defer b.stop()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		all, err := b.Prospects(t.Context())
		if err != nil || len(all) != 3 {
			t.Fatalf("there are %d prospects (%v), want those of the three that are polled", len(all), err)
		}
		rates := map[freshet.SourceID]outlook.Range{}
		for _, p := range all {
			rates[p.ID] = p.Rate
		}
		for id, every := range map[freshet.SourceID]time.Duration{"busy": time.Minute, "calm": 20 * time.Minute} {
			if r, truth := rates[id], 1/every.Seconds(); r.Low > truth || r.High < truth {
				t.Errorf("%s is thought to change %+v times a second, and does %v", id, r, truth)
			}
		}
		if dead := rates["dead"]; dead.Mean > rates["calm"].Mean || dead.Mean <= 0 {
			t.Errorf("a source that does not change is thought to do so %+v times a second", dead)
		}
		if terms := b.Terms(); terms.Budget != 0.05 {
			t.Errorf("the terms are %+v", terms)
		}
	})
}
