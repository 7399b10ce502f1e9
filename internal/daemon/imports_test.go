package daemon_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
	"freshet/internal/sched"
	"freshet/internal/store/sqlite"
	"freshet/internal/units"
)

// What a source was taught is learnt at once and once, and is there after a restart to the
// bit: from what was saved, and from the log and the lessons alone.
func TestTeachThroughARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		start := time.Now()
		w := web(start, latency, time.Now)
		for _, s := range sources(w) {
			if _, err := store.AddSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		run := func(store freshet.Store, limits sched.Limits, do func(d *daemon.Daemon)) []byte {
			p, learner := small.wired(t, "auto")
			d := daemon.New(daemon.Config{Store: store, Fetcher: w, Policy: p, Learner: learner, Limits: limits})
			ctx, stop := context.WithCancel(t.Context())
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
			return taught(t, learner)
		}
		var told []imported.UpdateTime
		for k := range 100 {
			at := start.Add(-time.Duration(100-k) * time.Hour)
			told = append(told, imported.UpdateTime{After: at, Until: at})
		}
		learnt := run(store, limits, func(d *daemon.Daemon) {
			time.Sleep(2 * time.Minute)
			for _, want := range []int{100, 0} { // once
				if added, all, err := d.Teach(t.Context(), "calm", told); err != nil || added != want || len(all.All()) != 100 {
					t.Errorf("%d times are new (%v), want %d", added, err, want)
				}
			}
			time.Sleep(3 * time.Minute)
		})
		spent := sched.Limits{Budget: sched.Budget{Polls: 1, Per: units.Day}} // no poll adds to the log
		if again := run(store, spent, func(*daemon.Daemon) {}); !bytes.Equal(again, learnt) {
			t.Error("after a restart something else is known than before")
		}
		lessons := 0
		lost := &forgetful{Store: store, amend: func(b *freshet.State) bool {
			if b.Key == imported.HistoryState {
				lessons++
			}
			return b.Key == imported.HistoryState
		}}
		if again := run(lost, spent, func(*daemon.Daemon) {}); !bytes.Equal(again, learnt) {
			t.Error("from the log and the lessons something else is known than before")
		}
		if lost.read < 30 || lessons == 0 {
			t.Errorf("%d outcomes and %d lessons were read", lost.read, lessons)
		}
		untaught := &forgetful{Store: store, amend: none}
		if again := run(untaught, spent, func(*daemon.Daemon) {}); bytes.Equal(again, learnt) {
			t.Error("nothing was learnt from the lessons")
		}
	})
}
