package daemon_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// Whoever takes over from another keeps to what the budget leaves, whether it has read of the
// polls, followed them, or finds them cut off.
func TestWarmTakesOverTheBudget(t *testing.T) {
	t.Parallel()
	limits := sched.Limits{Budget: sched.Budget{Polls: 12, Per: time.Minute}, Workers: 30}
	for name, made := range map[string]struct{ before, followed, cut int }{
		"polls that it read of":   {before: 12},
		"polls that it followed":  {followed: 12},
		"polls that were cut off": {cut: 12},
		"all of them":             {before: 4, followed: 4, cut: 4},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := manyPages(39)
				store := filled(t, dir, w)
				defer store.Close()
				r := &baton{T: t, web: w, store: store, log: &journal{Store: store, save: noNotes}}
				polled := 0
				poll := func(many int, ends bool) { // all at once, as a daemon with time to spare may do
					for range many {
						source, now := w.Sources()[3*polled], time.Now() // each at another host
						polled++
						_, err := store.Begin(t.Context(), freshet.Poll{Source: source, At: now})
						if err == nil && ends {
							_, _, err = store.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: source.ID, Began: now, Ended: now, Result: freshet.Failed, Failure: "http.500", Requests: 1}})
						}
						r.must(err)
					}
				}
				began := time.Now()
				poll(made.before, true)
				r.warm = daemon.NewWarm(daemon.WarmConfig{Edited: r.log.edited, Open: func(context.Context) (*daemon.Daemon, error) {
					auto, learner := newLearning(time.Second)
					return daemon.New(daemon.Config{Store: r.log, Fetcher: w, Policy: auto, Learner: learner, Limits: limits}), nil
				}})
				r.endWarm = r.run(r.warm.Run)
				time.Sleep(2 * time.Second)
				poll(made.followed, true)
				time.Sleep(2 * time.Second)
				poll(made.cut, false)
				r.endWarm()
				synctest.Wait()
				cfg, err := r.warm.Take(t.Context(), store)
				r.must(err)
				cfg.Store, cfg.Start.Warm = r.log, r.warm
				watchFor(t, cfg, 2*time.Minute)
				requests := w.Requests()
				if len(requests) == 0 {
					t.Fatal("nothing is polled in two minutes")
				}
				if first := requests[0].At.Sub(began); first < time.Minute {
					t.Errorf("the budget of a minute is spent, and a poll is made %v after it was", first)
				}
			})
		})
	}
}
