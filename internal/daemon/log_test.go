package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// A slowCatalog answers the first question about a source, once it is told to,
// only when another edit is through or cannot get through.
type slowCatalog struct {
	freshet.Store
	slow    atomic.Bool
	read    chan struct{} // closed when the first question has its answer
	through chan struct{} // closed when the other edit is through
}

func (s *slowCatalog) Source(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error) {
	w, err := s.Store.Source(ctx, id)
	s.wait()
	return w, err
}

func (s *slowCatalog) SourceAsWritten(ctx context.Context, written freshet.Source) (freshet.SourceWithStatus, error) {
	w, err := s.Store.SourceAsWritten(ctx, written)
	s.wait()
	return w, err
}

func (s *slowCatalog) wait() {
	if s.slow.CompareAndSwap(true, false) {
		close(s.read)
		select {
		case <-s.through:
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Of two edits at the same time, the loop goes by the one that was written last.
func TestLoopGoesByTheLastEdit(t *testing.T) {
	t.Parallel()
	pages := []synth.Page{{ID: "a", Host: "x"}, {ID: "b", Host: "x"}, {ID: "c", Host: "x"}, {ID: "other", Host: "y"}}
	urls := synth.New(synth.Config{Now: time.Now, Pages: pages}).Sources()
	to := func(i int) freshet.Source { return freshet.Source{ID: "a", URL: urls[i].URL, Created: start} }
	update := func(i int) func(context.Context, *daemon.Daemon) error {
		return func(ctx context.Context, d *daemon.Daemon) error { _, err := d.UpdateSource(ctx, to(i)); return err }
	}
	remove := func(ctx context.Context, d *daemon.Daemon) error { return d.RemoveSource(ctx, "a", true) }
	add := func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.AddSource(ctx, to(2))
		return err
	}
	tests := []struct {
		name        string
		first, then func(context.Context, *daemon.Daemon) error
		want        freshet.SourceID // the page that is polled in the end; none if empty
	}{
		{"two changes", update(1), update(2), "c"},
		{"a change and a removal", update(1), remove, ""},
		{"a removal and a new beginning", remove, add, "c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := synth.New(synth.Config{Now: time.Now, Pages: pages})
			store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir(), Features: features.All()})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for _, s := range []freshet.Source{to(0), urls[3]} {
				if _, err := store.AddSource(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			slow := &slowCatalog{Store: store, read: make(chan struct{}), through: make(chan struct{})}
			outcomes := make(chan freshet.Outcome, 10_000)
			d := daemon.New(daemon.Config{
				Store: slow, Fetcher: w, Policy: &policy.RoundRobin{}, Observe: func(_ freshet.Source, o freshet.Outcome) { outcomes <- o },
				Limits: sched.Limits{Budget: sched.Budget{Polls: 100, Per: time.Second}},
			})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var running, editing sync.WaitGroup
			running.Go(func() {
				if err := d.Run(ctx); err != nil {
					t.Errorf("the daemon stopped: %v", err)
				}
			})
			<-outcomes // it is at work
			slow.slow.Store(true)
			editing.Go(func() {
				if err := tt.first(ctx, d); err != nil {
					t.Errorf("the first edit: %v", err)
				}
			})
			<-slow.read
			if err := tt.then(ctx, d); err != nil {
				t.Errorf("the second edit: %v", err)
			}
			close(slow.through)
			editing.Wait()
			before := 0
			for i := range 10 { // the first of these is asked for behind the edits
				if _, err := d.Poll(ctx, "other"); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					before = len(w.Requests())
				}
			}
			for range 2 { // the first may join a poll that was on its way before
				if _, err := d.Poll(ctx, "a"); tt.want != "" && err != nil {
					t.Fatal(err)
				}
			}
			stop()
			running.Wait()
			polled, others := false, 0
			for _, r := range w.Requests()[before:] {
				if polled = polled || r.Page == tt.want; r.Page == "other" || r.Page == tt.want {
					continue
				}
				if others++; others > 1 { // one may have been on its way before
					t.Fatalf("in the end page %s is polled, want %q", r.Page, tt.want)
				}
			}
			if tt.want != "" && !polled {
				t.Errorf("in the end page %s is not polled", tt.want)
			}
		})
	}
}

// A choosy store refuses a capture once, for no reason that passes.
type choosy struct {
	freshet.Store
	refused atomic.Bool
}

func (c *choosy) Commit(ctx context.Context, r freshet.Record) (freshet.Outcome, freshet.Change, error) {
	if r.Capture != nil && r.Outcome.Result == freshet.Changed && !c.refused.Swap(true) {
		return freshet.Outcome{}, freshet.Change{}, errors.New("too odd to be kept")
	}
	return c.Store.Commit(ctx, r)
}

// A change that could not be recorded is captured by the next poll: that it was
// seen counts only if it is recorded.
func TestRefusedCaptureIsSeenAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, 3*time.Second+time.Millisecond)
		store := filled(t, dir, w)
		defer store.Close()
		watchFor(t, daemon.Config{
			Store: &choosy{Store: store}, Fetcher: w, Policy: &policy.RoundRobin{},
			Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}, Backoff: sched.Backoff{Start: time.Second}},
		}, 5900*time.Millisecond)
		log, err := store.Outcomes(t.Context(), freshet.OutcomeQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var results []freshet.Result
		for _, o := range log {
			if o.Result != freshet.Unchanged {
				results = append(results, o.Result)
			}
		}
		if want := "[first failed changed]"; fmt.Sprint(results) != want {
			t.Errorf("the polls found %v, want %s", results, want)
		}
		if len(log) > 1 && log[len(log)-1].Failure == "" && log[len(log)-1].Version != 2 {
			t.Errorf("the last poll saw version %d, want 2", log[len(log)-1].Version)
		}
	})
}

// A forgottenLog cannot be read any more at some time.
type forgottenLog struct {
	freshet.Store
	reads  atomic.Int64
	broken atomic.Bool
}

var errUnreadable = errors.New("the log is not readable")

func (l *forgottenLog) Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error) {
	l.reads.Add(1)
	if l.broken.Load() {
		return nil, errUnreadable
	}
	return l.Store.Outcomes(ctx, q)
}

// A leader that cannot follow the log ends the run: it would decide blindly.
func TestUnreadableLogEndsTheRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Minute)
		store := filled(t, dir, w)
		defer store.Close()
		log := &forgottenLog{Store: store}
		ended := make(chan error, 1)
		go func() {
			ended <- daemon.New(daemon.Config{Store: log, Fetcher: w, Policy: &policy.RoundRobin{}}).Run(t.Context())
		}()
		time.Sleep(3 * time.Second)
		log.broken.Store(true)
		if err := <-ended; !errors.Is(err, errUnreadable) {
			t.Errorf("the run ended with %v, want %v", err, errUnreadable)
		}
	})
}

// Where the end of the log has been purged, whoever follows it waits for what
// comes, and does not ask again and again.
func TestFollowsAPurgedLog(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Minute)
		store := filled(t, dir, w)
		defer store.Close()
		for _, r := range []freshet.Record{{Outcome: freshet.Outcome{Source: "page", Began: start, Ended: start}}, {Outcome: freshet.Outcome{Source: "gone", Began: start, Ended: start}}} {
			if _, err := store.AddSource(t.Context(), freshet.Source{ID: "gone", URL: "https://gone.example/"}); err != nil && !errors.Is(err, freshet.ErrConflict) {
				t.Fatal(err)
			}
			if _, _, err := store.Commit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.RemoveSource(t.Context(), "gone", true); err != nil {
			t.Fatal(err)
		}
		log := &forgottenLog{Store: store}
		d := daemon.New(daemon.Config{Store: log, Fetcher: w, Policy: &policy.RoundRobin{}, Start: daemon.StartConfig{Replay: 100}})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("the daemon stopped: %v", err)
			}
		})
		time.Sleep(3500 * time.Millisecond)
		source := w.Sources()[0]
		if err := d.RemoveSource(t.Context(), source.ID, true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := log.reads.Load()
		time.Sleep(time.Minute)
		if n := log.reads.Load() - before; n > 2 {
			t.Errorf("the log was read %d times in a minute in which nothing happened", n)
		}
		if _, err := d.AddSource(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		if o, err := d.Poll(t.Context(), source.ID); err != nil || o.Cursor == 0 {
			t.Errorf("a poll of the source that came back ended as %+v, %v", o, err)
		}
		stop()
		running.Wait()
	})
}

// A poll whose source is purged meanwhile frees its worker.
func TestPurgedWhileUnderWay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := synth.New(synth.Config{Now: time.Now, Latency: time.Second, Pages: []synth.Page{{ID: "a", Host: "x"}, {ID: "b", Host: "y"}}})
		list := w.Sources()
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: 2 * time.Second}, Workers: 1}}, list[0])
		defer b.stop()
		time.Sleep(500 * time.Millisecond) // the poll of a is under way
		if err := b.RemoveSource(t.Context(), "a", true); err != nil {
			t.Fatal(err)
		}
		if _, err := b.AddSource(t.Context(), list[1]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if n := len(w.Requests()); n < 6 {
			t.Errorf("%d requests in 20 s, want one every three seconds: two after the last one has ended", n)
		}
	})
}

// An attempt of which nothing more is known counts against the budget of the
// next run.
func TestUnfinishedAttemptCounts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Minute)
		store := filled(t, dir, w)
		defer store.Close()
		if _, err := store.Begin(t.Context(), freshet.Poll{Source: w.Sources()[0], At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		cfg := daemon.Config{Store: store, Fetcher: w, Policy: &policy.RoundRobin{}, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Hour}}}
		watchFor(t, cfg, 59*time.Minute)
		if n := len(w.Requests()); n != 0 {
			t.Errorf("%d requests within an hour of the start, want none: one may have been made just before", n)
		}
		watchFor(t, cfg, 2*time.Hour)
		if n := len(w.Requests()); n == 0 {
			t.Error("no request in two more hours")
		}
	})
}

// A beginner writes down when sources had been seen when it was told of them.
type beginner struct {
	policy.Uniform
	since []time.Time
	told  int
}

func (b *beginner) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	b.since = append(b.since, since)
	b.Uniform.Put(now, slot, s, since)
}

func (b *beginner) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	b.told++
	b.Uniform.Observe(now, slot, o)
}

// Whoever is told of the log again begins where the log does, and one who is not
// begins where it ends.
func TestBeginsWhereTheLogDoes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(5)
		store := filled(t, dir, w)
		defer store.Close()
		watchFor(t, daemon.Config{Store: store, Fetcher: w, Policy: &policy.RoundRobin{}, Limits: crowded}, 5*time.Second)
		for _, recall := range []int{0, 1 << 20} {
			p := &beginner{}
			watchFor(t, daemon.Config{Store: store, Fetcher: w, Policy: p, Start: daemon.StartConfig{Replay: recall}, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: 24 * time.Hour}}}, time.Second)
			for _, since := range p.since {
				if since.IsZero() != (recall > 0) {
					t.Errorf("recalling %d outcomes a source is said to have been seen at %v", recall, since)
				}
			}
			if (p.told > 10) != (recall > 0) {
				t.Errorf("recalling %d outcomes the policy is told of %d", recall, p.told)
			}
		}
	})
}
