package daemon_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/synth"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
)

// figuresWeb has pages that change at random, more and more seldom: most are of one
// host, and two hosts have one each.
func figuresWeb(n int) *synth.Web {
	var pages []synth.Page
	for i := range n {
		host := "large"
		if i < 2 {
			host = fmt.Sprint("small", i)
		}
		pages = append(pages, synth.Page{
			ID: freshet.SourceID(fmt.Sprintf("p%02d", i)), Host: host, Schedule: synth.Poisson{Mean: time.Duration(10+4*i) * time.Minute},
		})
	}
	return synth.New(synth.Config{Start: time.Now(), Now: time.Now, Pages: pages, Latency: 10 * time.Millisecond})
}

// figures are what a judge who knows the truth makes of the polls so far.
type figures struct {
	lab.Score
	fairness, overHosts float64
}

// judge holds the polls in the store against when pages really changed. A page counts
// from its first poll on, which is what it is compared with later.
func judge(t *testing.T, b *bench, w *synth.Web) (f figures) {
	t.Helper()
	now := time.Now()
	first, polls := map[freshet.SourceID]time.Time{}, map[freshet.SourceID][]time.Time{}
	log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range log {
		if o.Result == freshet.First {
			first[o.Source] = o.Began
		} else {
			polls[o.Source] = append(polls[o.Source], o.Began)
		}
	}
	var pages []freshet.SourceID
	var all outlook.Fairness
	byHost := map[string]*outlook.Fairness{}
	since := func(s freshet.Source) []time.Time {
		from, ok := first[s.ID]
		if !ok {
			from = start
		}
		return w.Changes(s.ID, from, now)
	}
	for _, s := range w.Sources() {
		pages = append(pages, s.ID)
		if byHost[s.Host()] == nil {
			byHost[s.Host()] = &outlook.Fairness{}
		}
		if len(since(s)) > 0 {
			all.Add(1, len(polls[s.ID]) > 0)
			byHost[s.Host()].Add(1, len(polls[s.ID]) > 0)
		}
	}
	var hosts []outlook.Fairness
	for _, h := range byHost {
		hosts = append(hosts, *h)
	}
	history := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for _, s := range w.Sources() {
			for _, at := range since(s) {
				if !yield(s.ID, at) {
					return
				}
			}
		}
	}, pages...)
	grid, err := history.Quantise(lab.Period{Start: start, End: now, Instant: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	scorer := lab.NewScorer(grid, lab.Weights{}, lab.Measures{Divergence: lab.ChangesBehind})
	for page, id := range grid.Pages() {
		for _, at := range polls[id] {
			scorer.Poll(page, int(at.Sub(start)/grid.Instant)+1)
		}
	}
	return figures{scorer.Score(), all.Share().Mean, outlook.FairnessOver(hosts).Mean}
}

// near fails a test unless what is said is near what is.
func near(t *testing.T, what string, said, is, by float64) {
	t.Helper()
	t.Logf("%s: said %.3f, is %.3f", what, said, is)
	if math.Abs(said-is) > by {
		t.Errorf("%s is said to be %.3f, and is %.3f", what, said, is)
	}
}

// What the daemon says of ChangeRatio and divergence, beside freshness and age, is near
// the truth.
func TestFiguresAreHonest(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	inBubble(t, func(t *testing.T, dir string) {
		w := figuresWeb(20)
		b := begin(t, dir, learning(w, sched.Budget{Polls: 1, Per: time.Minute}), w.Sources()...)
		defer b.stop()
		time.Sleep(16 * time.Hour)
		synctest.Wait()
		n, is := numbersAndTruth(t, b, w)
		near(t, "ChangeRatio", n.All.ChangeRatio(), is.ChangeRatio, 0.02)
		near(t, "freshness", n.All.Freshness(), is.Freshness, 0.05)
		near(t, "age", n.All.MeanAge().Seconds(), is.AgeSeconds, 0.2*is.AgeSeconds)
		near(t, "fairness", n.All.Fairness.Share().Mean, is.fairness, 0.05)
		near(t, "fairness over hosts", n.Hosts.Mean, is.overHosts, 0.05)
		said := learn.Divergence(n.All.Tally)
		near(t, "divergence", said.Mean, is.Divergence, 0.3*is.Divergence)
		if is.Divergence < said.Low || is.Divergence > said.High {
			t.Errorf("divergence is said to be between %.3f and %.3f, and is %.3f", said.Low, said.High, is.Divergence)
		}
	})
}

// While many pages have been seen only once, or never, fairness is low, and said to be.
func TestFairnessIsHonest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := figuresWeb(150)
		b := begin(t, dir, learning(w, sched.Budget{Polls: 2, Per: time.Minute}), w.Sources()...)
		defer b.stop()
		last := 0.0
		for _, after := range []time.Duration{90 * time.Minute, 30 * time.Minute, 2 * time.Hour} {
			time.Sleep(after)
			synctest.Wait()
			n, is := numbersAndTruth(t, b, w)
			said := n.All.Fairness.Share()
			near(t, "fairness", said.Mean, is.fairness, 0.25) // of many, nothing is known but what others do
			near(t, "fairness over hosts", n.Hosts.Mean, is.overHosts, 0.1)
			if is.fairness < said.Low || is.fairness > said.High {
				t.Errorf("fairness is said to be between %.3f and %.3f, and is %.3f", said.Low, said.High, is.fairness)
			}
			if is.fairness <= last {
				t.Errorf("fairness is %.3f after %.3f", is.fairness, last)
			}
			last = is.fairness
		}
	})
}

func numbersAndTruth(t *testing.T, b *bench, w *synth.Web) (daemon.Numbers, figures) {
	t.Helper()
	n, err := b.Numbers(t.Context(), daemon.NumbersQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return n, judge(t, b, w)
}
