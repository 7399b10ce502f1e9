package baselines_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

// bestAt is the most that one page can gain at a price, by trying all.
func bestAt(w policytest.World, page int, price float64) float64 {
	n := w.Instants()
	best := make([]float64, n+1)
	for a := n - 1; a >= 0; a-- {
		for b := a + 1; b <= n; b++ {
			best[a] = max(best[a], w.Gain(page, a, b)-price+best[b])
		}
	}
	return best[0]
}

// Polls that are made only if they are worth the price are the best that there
// are at this price, for every page, whatever its life and urgency.
func TestPricedPollsBestAtItsPrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := rapid.SampledFrom([][2]string{
			{"overwrite", "uniform"}, {"overwrite", "exp:0.9"}, {"append", "exp:0.7"}, {"overwrite", "exp:0"},
			{"window:3", "exp:0.9"}, {"overwrite", "window:4"}, {"overwrite", "poly:1"}, {"append", "chordal:6"}, {"append", "table:1,0.6,0.1"},
		}).Draw(t, "pair")
		life, err := objective.ParseVisibilityIn(time.Minute, pair[0])
		if err != nil {
			t.Fatal(err)
		}
		urgency, err := objective.ParseUrgencyIn(time.Minute, pair[1])
		if err != nil {
			t.Fatal(err)
		}
		const n = 30
		pages := rapid.IntRange(1, 4).Draw(t, "pages")
		pi, weights := make(policytest.Table, pages), make([]float64, pages)
		for i := range pi {
			weights[i] = rapid.SampledFrom([]float64{1, 0.3}).Draw(t, "weight")
			for range n {
				pi[i] = append(pi[i], policytest.DrawChance(t))
			}
		}
		w := policytest.NewWorld(pi, weights, pages, []objective.Visibility{life}, urgency)
		// One price for all the time: it would be found again after an eighth
		// of the horizon.
		p := baselines.NewPriced(baselines.PricedConfig{Start: policytest.Noon, Estimator: pi, Polls: 0.3, Horizon: 8 * n})
		for i, s := range w.Pages {
			p.Put(policytest.Noon, freshet.Slot(i), s, time.Time{})
		}
		net, prev := make([]float64, pages), make([]int, pages)
		for j := 1; j <= n; j++ {
			now := policytest.Noon.Add(time.Duration(j) * time.Minute)
			var polled []freshet.Slot
			p.Choose(now, pages, func(s freshet.Slot, worth float64) bool {
				if worth < p.Price() {
					return false
				}
				polled = append(polled, s)
				return true
			})
			for _, s := range polled {
				net[s] += w.Gain(int(s), prev[s], j) - p.Price()
				prev[s] = j
				p.Observe(now, s, freshet.Outcome{Began: now, Ended: now})
			}
		}
		for i := range pages {
			if best := bestAt(w, i, p.Price()); math.Abs(net[i]-best) > 1e-6 {
				t.Fatalf("%v: page %d gains %v at the price %v, want %v", pair, i, net[i], p.Price(), best)
			}
		}
	})
}

// Whatever is refused, in flight, fails, is edited or removed: nothing is offered
// twice in a choice, or while it is polled, and all that is worth something is
// offered before the choice ends short.
func TestPricedOffersAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 30
		pages := rapid.IntRange(1, 40).Draw(t, "pages")
		pi := make(policytest.Table, pages)
		w := policytest.World{Chance: pi}
		for i := range pi {
			for range n {
				pi[i] = append(pi[i], policytest.DrawChance(t))
			}
			w.Pages = append(w.Pages, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("p%03d", i)), Life: objective.Visibility{Kind: objective.VisibleForever}})
		}
		p := baselines.NewPriced(baselines.PricedConfig{Start: policytest.Noon, Estimator: pi})
		for i, s := range w.Pages {
			p.Put(policytest.Noon, freshet.Slot(i), s, time.Time{})
		}
		prev, flying, gone, turned := make([]int, pages), make([]bool, pages), make([]bool, pages), make([]int, pages)
		for j := 1; j <= n; j++ {
			now := policytest.Noon.Add(time.Duration(j) * time.Minute)
			for range rapid.IntRange(1, 3).Draw(t, "choices") {
				shut := rapid.IntRange(1, 4).Draw(t, "shut")
				offered := map[freshet.Slot]bool{}
				taken, want := 0, rapid.IntRange(1, 12).Draw(t, "n")
				again := p.Choose(now, want, func(s freshet.Slot, _ float64) bool {
					if offered[s] || flying[s] || gone[s] || turned[s] == j {
						t.Fatalf("page %d is offered twice, or while it is polled, or after it went", s)
					}
					offered[s] = true
					if int(s)%shut != 0 {
						return false
					}
					taken++
					flying[s] = true
					return true
				})
				if !again.Equal(now.Add(time.Minute)) || taken > want {
					t.Fatalf("%d of %d were taken, and asked to come again at %v", taken, want, again)
				}
				for s := range pages {
					if taken < want && !offered[freshet.Slot(s)] && !flying[s] && !gone[s] && turned[s] != j && w.Gain(s, prev[s], j) > 0 {
						t.Fatalf("page %d is worth something at %d and was not offered", s, j)
					}
				}
				if at := rapid.IntRange(0, 4*pages).Draw(t, "edited"); at < pages && !gone[at] {
					w.Pages[at].Weight = 0.5
					p.Put(now, freshet.Slot(at), w.Pages[at], time.Time{})
				}
			}
			for s := range pages {
				if flying[s] && rapid.IntRange(0, 3).Draw(t, "ends") > 0 {
					flying[s], turned[s] = false, j
					o := freshet.Outcome{Began: now, Ended: now, Result: freshet.Failed}
					if rapid.Bool().Draw(t, "seen") {
						o.Result, prev[s] = freshet.Changed, j
					}
					p.Observe(now, freshet.Slot(s), o)
				}
			}
			if at := rapid.IntRange(0, 9*pages).Draw(t, "removed"); at < pages && !flying[at] {
				p.Remove(freshet.Slot(at))
				gone[at] = true
			}
		}
	})
}

// More polls are cheaper.
func TestPriceFallsWithTheBudget(t *testing.T) {
	last := math.Inf(1)
	for _, polls := range []int{1, 2, 5, 20, 60} {
		p := baselines.NewPriced(baselines.PricedConfig{Start: policytest.Noon, Estimator: &estimate.Constant{Chance: 0.02}})
		for i := range 50 {
			p.Put(policytest.Noon, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("%02d", i)), Weight: 0.2 + float64(i%4)}, time.Time{})
		}
		p.Choose(policytest.Noon.Add(time.Minute), polls, func(freshet.Slot, float64) bool { return true })
		if price := p.Price(); !(price > 0 && price < last) {
			t.Errorf("with %d polls an instant the price is %v, after %v with fewer", polls, price, last)
		}
		last = p.Price()
	}
}

// A change that is sure to come is waited for, where one poll is all that there
// is. WIC spends it on what has accrued.
func TestPricedWaitsForAPeak(t *testing.T) {
	pi := policytest.Table{{0.3, 0, 0.95, 0, 0, 0}, {0.3, 0, 0.3, 0, 0, 0}}
	w := policytest.NewWorld(pi, nil, 1, []objective.Visibility{{}}, objective.Urgency{Kind: objective.UrgencyExp, A: 0.9, Per: time.Minute})
	p := baselines.NewPriced(baselines.PricedConfig{Start: policytest.Noon, Estimator: pi, Polls: 1})
	ours, _ := w.Utility(w.Run(p))
	theirs, _ := w.Utility(w.Run(wic(w)))
	if best := w.Optimum(); math.Abs(ours-best) > 1e-9 || ours < theirs {
		t.Errorf("captured %v, and WIC %v, of %v", ours, theirs, best)
	}
}

// Of many sources only some are looked at in an instant, and yet none is missed
// whose worth has risen since its last look, be it below the price: here there
// are polls over for such.
func TestPricedSeesWhatRises(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	pi := make(policytest.Table, 120)
	for i := range pi {
		peak, minute := 0.1+0.3*draw.Float64(), draw.IntN(60)
		for j := range 180 {
			z := float64((j+90-minute)%60-30) / 1.5
			pi[i] = append(pi[i], 0.002+peak*math.Exp(-z*z/2))
		}
	}
	w := policytest.NewWorld(pi, nil, 4, []objective.Visibility{{}}, objective.Urgency{Kind: objective.UrgencyExp, A: 0.5, Per: time.Minute})
	ours, _ := w.Utility(w.Run(baselines.NewPriced(baselines.PricedConfig{Start: policytest.Noon, Estimator: pi, Polls: 4})))
	theirs, _ := w.Utility(w.Run(wic(w)))
	if ours < 1.01*theirs {
		t.Errorf("captured %v, and WIC %v", ours, theirs)
	}
}

// Without a configuration all are alike and take turns; and a restart brings
// along when each was seen.
func TestPricedZeroConfig(t *testing.T) {
	p := baselines.NewPriced(baselines.PricedConfig{})
	for i, ago := range []time.Duration{3, 9, 5} {
		p.Put(policytest.Noon, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i))}, policytest.Noon.Add(-ago*time.Minute))
	}
	var got []freshet.Slot
	for j := range 6 {
		now := policytest.Noon.Add(time.Duration(j+1) * time.Minute)
		p.Choose(now, 1, func(s freshet.Slot, _ float64) bool { got = append(got, s); return true })
		p.Observe(now, got[len(got)-1], freshet.Outcome{Began: now, Ended: now})
	}
	if want := []freshet.Slot{1, 2, 0, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("polled %v, want %v: who was seen longest ago", got, want)
	}
	if again := p.Choose(policytest.Noon.Add(99*time.Hour), 1, func(freshet.Slot, float64) bool { return false }); !again.Equal(policytest.Noon.Add(99*time.Hour + time.Minute)) {
		t.Errorf("after a long sleep asked to come again at %v", again)
	}
}

// BenchmarkPriced lets instants pass, with so many polls each, for sources with
// rates of their own.
func BenchmarkPriced(b *testing.B) {
	for _, pages := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			p := baselines.NewPriced(baselines.PricedConfig{Start: policytest.Noon, Estimator: &estimate.Poisson{}})
			for i := range pages {
				p.Put(policytest.Noon, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("%06d", i))}, time.Time{})
				if i%16 == 0 {
					p.Observe(policytest.Noon, freshet.Slot(i), freshet.Outcome{Began: policytest.Noon, Since: policytest.Noon.Add(-time.Duration(1+i%999) * time.Minute), Result: freshet.Changed})
				}
			}
			now := policytest.Noon
			var polled []freshet.Slot
			for b.Loop() {
				now = now.Add(time.Minute)
				polled = polled[:0]
				p.Choose(now, 8, func(s freshet.Slot, _ float64) bool { polled = append(polled, s); return true })
				for _, s := range polled {
					p.Observe(now, s, freshet.Outcome{Began: now, Ended: now, Since: now.Add(-time.Hour)})
				}
			}
		})
	}
}

// wic returns WIC for a world.
func wic(w policytest.World) freshet.Policy {
	return policy.NewWIC(policy.WICConfig{Start: policytest.Noon, Instant: time.Minute, Estimator: w.Chance})
}
