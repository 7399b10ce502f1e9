package daemon_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

func strategyOf(t *testing.T, text string) timetable.Strategy {
	s, err := timetable.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A strategy goes by the wall clock, through a clock that is set, a daemon that is down
// while some of its times pass, and strategies of tags that come and go.
func TestStrategyInTheDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		began := time.Now() // at midnight
		clock, web := &wallClock{}, &servers{}
		for _, s := range []freshet.Source{
			{ID: "own", URL: "http://own.example/", Strategy: strategyOf(t, "hour {5, 35}")},
			{ID: "tagged", URL: "http://tagged.example/", Tags: []string{"news"}},
		} {
			if _, err := store.AddSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		run := func(do func(d *daemon.Daemon)) {
			ctx, stop := context.WithCancel(t.Context())
			d := daemon.New(daemon.Config{
				Store: store, Fetcher: web, Policy: &policy.Uniform{}, Now: clock.Now, Limits: sched.Limits{Budget: sched.Budget{Polls: 60, Per: time.Hour}, Workers: 2},
				Strategies: []freshet.TagStrategy{{Tag: "news", Strategy: strategyOf(t, "day {01:15, 04:00} Europe/Berlin")}},
			})
			var running sync.WaitGroup
			running.Go(func() {
				if err := d.Run(ctx); err != nil {
					t.Errorf("the daemon stopped: %v", err)
				}
			})
			<-d.Started()
			do(d)
			stop()
			running.Wait()
		}
		run(func(d *daemon.Daemon) {
			time.Sleep(59 * time.Minute) // it is 00:59
			w, err := d.Why(t.Context(), "own")
			if next := began.Add(65 * time.Minute); err != nil || !w.Next.Equal(next) || w.Cause != freshet.ByStrategy {
				t.Errorf("why says %v by %s (%v), want %v", w.Next, w.Cause, err, next)
			}
			clock.set(time.Hour) // 01:59
			time.Sleep(30 * time.Second)
			w, err = d.Why(t.Context(), "own")
			if next := began.Add(125 * time.Minute); err != nil || !w.Next.Equal(next) { // by the clock
				t.Errorf("with the clock set, why says %v (%v), want %v", w.Next, err, next)
			}
			time.Sleep(29*time.Minute + 30*time.Second) // 02:29
		})
		time.Sleep(2 * time.Hour) // 04:29
		run(func(d *daemon.Daemon) {
			time.Sleep(20 * time.Minute) // 04:49
			d.SetStrategies(nil)
			time.Sleep(5 * time.Minute)
		})
		at := func(host string) (minutes []string) {
			for _, a := range web.came {
				if a.host == host {
					minutes = append(minutes, fmt.Sprintf("%.0f", a.at.Sub(began).Minutes()))
				}
			}
			return minutes
		}
		// A first look, 00:05, 00:35, then 02:05; what was missed, at 04:29, and 04:35.
		if got, want := at("own.example"), []string{"0", "5", "35", "65", "209", "215"}; !slices.Equal(got, want) {
			t.Errorf("its own strategy: polled after %v minutes, want %v", got, want)
		}
		// A first look, and 00:15 by UTC; 04:00 in Berlin was 03:00, when nobody was there.
		got := at("tagged.example")
		if want := []string{"0", "15", "209"}; len(got) < 6 || !slices.Equal(got[:3], want) {
			t.Errorf("that of a tag: polled after %v minutes, want %v and then by the policy", got, want)
		}
	})
}
