package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// quiet is a program that nobody listens to.
func quiet() *program {
	return &program{out: io.Discard, err: io.Discard, env: func(string) string { return "" }}
}

// watchFor lets a daemon watch a web for a while, in the time of a bubble.
func watchFor(t *testing.T, dir string, w *synth.Web, length time.Duration) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.Sources() {
		if _, err := store.AddSource(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	daemon := daemon.New(daemon.Config{
		Store: store, Fetcher: w, Policy: &policy.RoundRobin{},
		Limits: sched.Limits{Budget: sched.Budget{Polls: 30, Per: time.Minute}},
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := daemon.Run(ctx); err != nil {
			t.Errorf("the daemon stopped: %v", err)
		}
	})
	time.Sleep(length)
	stop()
	running.Wait()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// What a daemon records of a web whose truth is known is that truth, but for
// what falls between its polls, of which the number is about right.
func TestHistoryOfADaemon(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pages := []synth.Page{{ID: "dated", Host: "news", LastModified: true, Schedule: synth.Regular{Every: 47 * time.Second}}}
		for i := range 9 {
			pages = append(pages, synth.Page{
				ID: freshet.SourceID(fmt.Sprint("p", i)), Host: fmt.Sprint("host", i%3), ETag: true,
				Schedule: synth.Poisson{Mean: time.Duration(20+10*i) * time.Second},
			})
		}
		w := synth.New(synth.Config{Seed: 5, Latency: 20 * time.Millisecond, Pages: pages})
		watchFor(t, dir, w, 40*time.Minute)

		kept, err := readStore(t.Context(), quiet(), dir, &storeFlags{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		truth := 0
		for _, p := range pages {
			happened := w.Changes(p.ID, kept.From, kept.To)
			truth += len(happened)
			recorded := recordedOf(kept.History, p.ID)
			if len(recorded) == 0 || len(recorded) > len(happened) {
				t.Errorf("%s changed %d times, of which %d are recorded", p.ID, len(happened), len(recorded))
			}
			for _, at := range recorded {
				near := kept.WidthP90 + time.Second
				if p.ID == "dated" {
					near = 2 * time.Second // a date counts seconds
				}
				if !slices.ContainsFunc(happened, func(h time.Time) bool { return at.Sub(h).Abs() <= near }) {
					t.Errorf("%s is said to have changed at %v, and did not within %v", p.ID, at, near)
				}
			}
		}
		if kept.Changes >= truth || math.Abs(kept.Happened-float64(truth)) > 0.15*float64(truth) {
			t.Errorf("%d changes are recorded and about %.0f thought to have happened; there were %d", kept.Changes, kept.Happened, truth)
		}
		if kept.Dated == 0 || kept.First != len(pages) || kept.Gap < 19*time.Second || kept.Gap > 21*time.Second {
			t.Errorf("%d changes are dated, there were %d first looks, with a gap of %v", kept.Dated, kept.First, kept.Gap)
		}
	})
}

// recordedOf returns when one page changed.
func recordedOf(h *lab.History, id freshet.SourceID) (times []time.Time) {
	for page, at := range h.All() {
		if page == id {
			times = append(times, at)
		}
	}
	return times
}

// fillStore makes a store of hourly polls of two sources, which change every
// fourth and every sixth time.
func fillStore(t *testing.T, polls int) (dir string, end time.Time) {
	t.Helper()
	dir = t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	anHour := objective.Visibility{Kind: objective.VisibleFor, For: time.Hour}
	began := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, id := range []freshet.SourceID{"a", "b"} {
		src := freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Weight: float64(i + 1), Life: anHour}
		if _, err := store.AddSource(t.Context(), src); err != nil {
			t.Fatal(err)
		}
	}
	var since time.Time
	for n := range polls {
		at := began.Add(time.Duration(n) * time.Hour)
		for i, id := range []freshet.SourceID{"a", "b"} {
			r := freshet.Record{Outcome: freshet.Outcome{Source: id, Since: since, Began: at, Ended: at.Add(time.Second), Requests: 1, Status: 200}}
			switch {
			case n == 0:
				r.Outcome.Result = freshet.First
			case n%(4+2*i) == 0:
				r.Outcome.Result = freshet.Changed
			}
			if r.Outcome.Result.Captured() {
				text := fmt.Appendf(nil, "%s %d", id, n)
				r.Capture = &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: text}}
			}
			if _, _, err := store.Commit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			end = r.Outcome.Ended
		}
		since = at
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, end
}

func TestDaysOfALog(t *testing.T) {
	t.Parallel()
	dir, end := fillStore(t, 24*10)
	for _, tt := range []struct {
		days  float64
		polls int
	}{{0, 480}, {0.5, 26}, {1, 50}, {7, 338}, {400, 480}} {
		kept, err := readStore(t.Context(), quiet(), dir, &storeFlags{days: tt.days}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if kept.Polls != tt.polls || !kept.To.Equal(end) {
			t.Errorf("the last %v days have %d polls up to %v, want %d up to %v", tt.days, kept.Polls, kept.To, tt.polls, end)
		}
	}
}

// The sources of a replay are those of the store, with lives and urgencies in
// instants of the replay.
func TestOwnStakes(t *testing.T) {
	t.Parallel()
	dir, _ := fillStore(t, 24*10)
	p := quiet()
	p.env = func(name string) string { return map[string]string{"FRESHET_DATA": dir}[name] }
	var l labSetting
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	l.register(cmd.Flags())
	trace, err := l.openRecorded(p, cmd, &storeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if trace.Grid.Instant != 5*time.Minute {
		t.Fatalf("hourly polls give an instant of %v, want 5m", trace.Grid.Instant)
	}
	s := trace.Source(1)
	if s.URL != "https://b.example/" || s.Weight != 2 || s.Life.In(trace.Grid.Instant) != (objective.Span{Kind: objective.VisibleFor, N: 12}) {
		t.Errorf("source b takes part as %+v, want its own URL, a weight of 2 and a life of 12 instants, an hour", s)
	}
	if want := 2. / 12; math.Abs(trace.Recorded.Budget-want) > 0.01 {
		t.Errorf("%v polls an instant were spent, want about %v", trace.Recorded.Budget, want)
	}
	if got := trace.Recorded.Score; got.Captured != got.Changes || got.Changes != 59+39 {
		t.Errorf("the polls that were made captured %d of %d changes, want all of 98", got.Captured, got.Changes)
	}
}

// A store that is damaged in the middle of its log is told of, with what to do.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	dir, _ := fillStore(t, 500)
	file := filepath.Join(dir, "freshet.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(data) / 3; at < len(data)-8192; at++ {
		data[at] ^= 0xa5
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = readStore(t.Context(), quiet(), dir, &storeFlags{}, 1)
	if !errors.Is(err, freshet.ErrDamaged) || freshet.HintOf(err) == "" {
		t.Errorf("a damaged log gives %v, with the hint %q", err, freshet.HintOf(err))
	}
}
