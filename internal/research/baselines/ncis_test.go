package baselines_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/lab"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
)

// The crawl value is what polling a little later gains in fresh time per poll that it
// saves: simulated from the definition of the process.
func TestCrawlValueIsTheMarginalWorth(t *testing.T) {
	for _, c := range []struct{ unsigned, signals, wrong float64 }{
		{0.1, 0, 0}, {0.05, 0.2, 0.1}, {0.1, 0.05, 0.01}, {0.02, 0.5, 0.4},
	} {
		// Between polls time and signals add up to an effective time; the poll comes when
		// that reaches x. The page is fresh with the chance exp(-unsigned*effective).
		each := 0.0
		if c.signals > 0 {
			each = math.Log(c.signals/c.wrong) / c.unsigned
		}
		r := rand.New(rand.NewPCG(1, 9))
		for _, x := range []float64{3, 12, 30} {
			fresh, length := 0.0, 0.0
			const runs = 50_000
			for range runs {
				at, effective := 0.0, 0.0
				for effective < x {
					step := x - effective
					signal := false
					if c.signals > 0 {
						if next := r.ExpFloat64() / c.signals; next < step {
							step, signal = next, true
						}
					}
					fresh += (math.Exp(-c.unsigned*effective) - math.Exp(-c.unsigned*(effective+step))) / c.unsigned
					at, effective = at+step, effective+step
					if signal {
						effective += each
					}
				}
				length += at
			}
			want := fresh/runs - math.Exp(-c.unsigned*x)*length/runs
			got := baselines.CrawlValue(c.unsigned, c.signals, c.wrong, x, 0)
			if math.Abs(got-want) > 0.04*want+0.004 {
				t.Errorf("at %v after %v the crawl value is %.4f, want %.4f", c, x, got, want)
			}
			if each > 0 && x > each {
				if same := baselines.CrawlValue(c.unsigned, c.signals, c.wrong, x-each, 1); math.Abs(same-got) > 1e-9 {
					t.Errorf("a signal is worth %.6f, want %.6f as the time that it stands for", same, got)
				}
			}
		}
	}
	if sure := baselines.CrawlValue(0, 0.1, 0, 1, 1); math.Abs(sure-10) > 1e-9 {
		t.Errorf("a page that is known to have changed is worth %v, want the 10 instants for which it stays as it is", sure)
	}
	if quiet := baselines.CrawlValue(0, 0.1, 0, 50, 0); quiet > 1e-9 {
		t.Errorf("a page whose every change has a signal and that had none is worth %v, want nothing", quiet)
	}
}

// With an index that says which pages have changed, the same budget keeps more pages fresh.
func TestSignalsHelp(t *testing.T) {
	g, _ := poissonWeb(5000)
	score := func(e lab.Evidence) lab.Score {
		p, err := baselines.New("ncis", policy.Setting{Start: g.Start, Instant: g.Instant, Polls: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		s, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: 0.5, Evidence: e})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	without, with := score(lab.Evidence{}), score(lab.Evidence{Kind: lab.Index, Every: 20 * time.Minute})
	if with.IndexPolls < 200 || with.Freshness < without.Freshness+0.05 {
		t.Errorf("with %d readings of the index pages are fresh %.3f of the time, and %.3f without", with.IndexPolls, with.Freshness, without.Freshness)
	}
}
