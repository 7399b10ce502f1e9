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
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// directories are the mean times between changes of the pages of a site, by directory.
var directories = []time.Duration{40 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 48 * time.Hour}

// siteWeb returns pages of one site in directories that change unlike often.
func siteWeb(pages int) *synth.Web {
	list := make([]synth.Page, pages)
	for i := range list {
		list[i] = synth.Page{
			ID: freshet.SourceID(fmt.Sprintf("p%03d", i)), Host: "site",
			Schedule: synth.Poisson{Mean: directories[i*len(directories)/pages]},
		}
	}
	return synth.New(synth.Config{Seed: 5, Start: time.Now(), Latency: 20 * time.Millisecond, Pages: list, Now: time.Now})
}

// growing returns a daemon as the program makes it where there are so many sources, whose
// tick follows their number.
func growing(t *testing.T, w *synth.Web, name string, sources int, b sched.Budget) daemon.Config {
	t.Helper()
	p, learner, err := policy.Wire(name, policy.InDaemon(name, b, sources))
	if err != nil {
		t.Fatal(err)
	}
	return daemon.Config{
		Fetcher: w, Policy: p, Learner: learner, Limits: sched.Limits{Budget: b},
		Learning: func(sources int, b sched.Budget) learn.Config { return policy.InDaemon(name, b, sources).Learning() },
	}
}

// A daemon that started empty says the same of its sources as one that knew them from the
// start, as one that was restarted, and as one that learned the whole log again.
func TestStartedEmpty(t *testing.T) {
	t.Parallel()
	const pages = 210
	budget := sched.Budget{Polls: 60, Per: time.Minute}
	for _, name := range []string{"round-robin", "auto"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			share := func(t *testing.T, b *bench) (said [4]float64) {
				n, err := b.Numbers(t.Context(), daemon.NumbersQuery{})
				if err != nil {
					t.Fatal(err)
				}
				r := learn.Share(n.All.Tally)
				return [4]float64{r.Mean, r.Low, r.High, n.All.Happened}
			}
			var listed, empty, restarted [4]float64
			inBubble(t, func(t *testing.T, dir string) {
				w := siteWeb(pages)
				b := begin(t, dir, growing(t, w, name, pages, budget), w.Sources()...)
				time.Sleep(11 * time.Minute)
				synctest.Wait()
				listed = share(t, b)
				b.stop()
			})
			inBubble(t, func(t *testing.T, dir string) {
				w := siteWeb(pages)
				cfg := growing(t, w, name, 0, budget)
				learner := cfg.Learner
				if learner.Tick() != time.Second {
					t.Errorf("without a source the tick is %v", learner.Tick())
				}
				b := begin(t, dir, cfg, w.Sources()[0])
				time.Sleep(20 * time.Second)
				for _, s := range w.Sources()[1:] {
					if _, err := b.AddSource(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(11 * time.Minute)
				synctest.Wait()
				empty = share(t, b)
				_, is := numbersAndTruth(t, b, w)
				truth := float64(is.Captured) / float64(is.Settled)
				t.Logf("captured: truth %.3f of %d; listed %.3f, empty %.3f", truth, is.Settled, listed, empty)
				if truth < empty[1] || truth > empty[2] {
					t.Errorf("the share captured is said to be between %.3f and %.3f, and is %.3f", empty[1], empty[2], truth)
				}
				if want := learn.TickFor(pages, 1, time.Second); learner.Tick() != want {
					t.Errorf("with %d sources the tick is %v, want %v", pages, learner.Tick(), want)
				}
				b.stop()
				b = begin(t, dir, growing(t, w, name, pages, budget))
				synctest.Wait()
				restarted = share(t, b)
				b.stop()
			})
			for i, what := range []string{"share", "low end", "high end", "changes"} {
				if off := math.Abs(math.Log(empty[i] / listed[i])); off > 0.7 { // the first sources were pooled with fewer others
					t.Errorf("%s: %.3f after an empty start, %.3f with all sources listed in a file", what, empty[i], listed[i])
				}
				if off := math.Abs(math.Log(empty[i] / restarted[i])); off > 0.01 {
					t.Errorf("%s: %.3f before a restart, %.3f after it", what, empty[i], restarted[i])
				}
			}
		})
	}
}
