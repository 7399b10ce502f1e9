package daemon_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/learn/forecast"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// What is said of a budget, from what polls under the present one have shown, is
// what the daemon captures when it gets it: here half of it, and twice.
func TestBudgetIsAsSaid(t *testing.T) {
	t.Parallel()
	for _, polls := range []float64{1.5, 6} {
		t.Run(fmt.Sprint(polls), func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) { budgetIsAsSaid(t, dir, polls) })
		})
	}
}

func budgetIsAsSaid(t *testing.T, dir string, polls float64) {
	const warmup, trial = 2 * time.Hour, 3 * time.Hour
	cfg := synth.Config{Seed: 3, Start: start, Now: time.Now}
	for i := range 12 {
		cfg.Pages = append(cfg.Pages, synth.Page{
			ID: freshet.SourceID(fmt.Sprint("p", i)), Host: fmt.Sprint("h", i), Schedule: synth.Poisson{Mean: time.Duration(4+3*i) * time.Minute},
		})
	}
	w := synth.New(cfg)
	p, err := policy.New("auto", policy.Setting{Instant: time.Second, Tick: time.Minute, Polls: 3.0 / 60})
	if err != nil {
		t.Fatal(err)
	}
	usual := sched.Limits{Budget: sched.Budget{Polls: 3, Per: time.Minute}}
	b := begin(t, dir, daemon.Config{Fetcher: w, Policy: p, Limits: usual}, w.Sources()...)
	defer b.stop()
	time.Sleep(warmup)
	prospects, err := b.Prospects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := forecast.New(prospects, b.Terms()).At(polls / 60)

	b.SetLimits(sched.Limits{Budget: sched.Budget{Polls: polls, Per: time.Minute}})
	from := b.captured(t)
	time.Sleep(trial)
	synctest.Wait()
	happened := 0
	for _, page := range w.Pages() {
		happened += len(w.Changes(page.ID, start.Add(warmup), start.Add(warmup+trial)))
	}
	got := float64(b.captured(t)-from) / float64(happened)
	t.Logf("%.3f captured of %d, said to be %.3f (%.3f to %.3f)", got, happened, said.Share.Mean, said.Share.Low, said.Share.High)
	if math.Abs(got-said.Share.Mean) > 0.1 {
		t.Errorf("the share captured was said to be %+v, and is %.3f", said.Share, got)
	}
}

// captured returns how many changes there are in the log.
func (b *bench) captured(t *testing.T) freshet.Cursor {
	t.Helper()
	last, err := b.store.LastChange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// A source that changes every hour is found changed by nearly every poll. At
// random it would change more often than is seen, and nobody can tell: what is
// expected leaves room for both.
func TestRegularSources(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		cfg := synth.Config{Start: start, Now: time.Now}
		for i := range 3 {
			cfg.Pages = append(cfg.Pages, synth.Page{ID: freshet.SourceID(fmt.Sprint("p", i)), Host: fmt.Sprint("h", i), Schedule: synth.Regular{Every: time.Hour}})
		}
		w := synth.New(cfg)
		p, err := policy.New("auto", policy.Setting{Instant: time.Second, Tick: time.Minute, Polls: 2.7 / 3600})
		if err != nil {
			t.Fatal(err)
		}
		b := begin(t, dir, daemon.Config{Fetcher: w, Policy: p, Limits: sched.Limits{Budget: sched.Budget{Polls: 2.7, Per: time.Hour}}}, w.Sources()...)
		defer b.stop()
		time.Sleep(60 * time.Hour)
		synctest.Wait()
		all, err := b.Prospects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const truth = 1.0 / 3600
		for _, p := range all {
			t.Logf("%s changes %.2f times an hour (%.2f to %.2f)", p.ID, p.Rate.Mean/truth, p.Rate.Low/truth, p.Rate.High/truth)
			if p.Rate.Low > truth || p.Rate.High < truth || p.Rate.Mean > 2.5*truth {
				t.Errorf("%s changes every hour, and is thought to do so %.2f times an hour (%.2f to %.2f)", p.ID, p.Rate.Mean/truth, p.Rate.Low/truth, p.Rate.High/truth)
			}
		}
	})
}
