package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// A pageSet is a set of sites whose pages change from cycle to cycle, and a
// policy that downloads a fixed number of them in each.
type pageSet struct {
	ids     []freshet.SourceID
	bits    [][]bool // by page: whether it changes in each cycle, round and round
	stale   []bool   // by page: changed since it was last downloaded
	visits  []int    // by page
	changes []int    // by page
	now     time.Time
	polls   int
	found   int
}

// vShaped draws sites most of whose pages hardly change and some most of whose
// do, with pages that differ much within a site.
func vShaped(sites, pages int, seed uint64) *pageSet {
	chance := rand.New(rand.NewPCG(seed, 1))
	weights := []float64{.36, .30, .07, .035, .02, .015, .01, .005, .005, .18}
	return newCrawl(sites, pages, 5, chance, func() func() float64 {
		u, bin := chance.Float64(), 0
		for bin < 9 && u >= weights[bin] {
			u -= weights[bin]
			bin++
		}
		lo, hi := float64(bin)/10, float64(bin+1)/10
		switch bin {
		case 0:
			hi = 0.08
		case 1:
			lo, hi = 0.08, 0.19
		}
		rho := lo + (hi-lo)*chance.Float64()
		return func() float64 { return beta(chance, 0.3*rho, 0.3*(1-rho)) }
	})
}

// normal draws sites whose share of changing pages is normal around a half, and
// whose pages are alike.
func normal(sites, pages int, seed uint64) *pageSet {
	chance := rand.New(rand.NewPCG(seed, 2))
	return newCrawl(sites, pages, 12, chance, func() func() float64 {
		rho := -1.0
		for rho < 0 || rho > 1 {
			rho = 0.5 + 0.3*chance.NormFloat64()
		}
		return func() float64 { return rho }
	})
}

func newCrawl(sites, pages, cycles int, chance *rand.Rand, site func() func() float64) *pageSet {
	c := &pageSet{now: noon}
	for s := range sites {
		rate := site()
		for p := range pages {
			q, bits := rate(), make([]bool, cycles)
			for i := range bits {
				bits[i] = chance.Float64() < q
			}
			c.ids = append(c.ids, freshet.SourceID(fmt.Sprintf("site%03d/%05d", s, p)))
			c.bits = append(c.bits, bits)
		}
	}
	c.stale, c.visits, c.changes = make([]bool, len(c.ids)), make([]int, len(c.ids)), make([]int, len(c.ids))
	return c
}

// beta draws from a beta distribution, by Jöhnk's method, which suits small
// parameters.
func beta(chance *rand.Rand, a, b float64) float64 {
	for {
		x, y := math.Log(chance.Float64())/a, math.Log(chance.Float64())/b
		top := max(x, y)
		sum := top + math.Log(math.Exp(x-top)+math.Exp(y-top))
		if sum <= 0 {
			return math.Exp(x - sum)
		}
	}
}

// run lets a policy download so many pages in each of so many cycles, and
// returns which part of them had changed since the last time, by cycle.
func (c *pageSet) run(t *testing.T, p freshet.Policy, downloads, cycles int) []float64 {
	t.Helper()
	for slot, id := range c.ids {
		p.Put(c.now, freshet.Slot(slot), freshet.Source{ID: id}, c.now)
	}
	var ratios []float64
	for cycle := range cycles {
		c.now = c.now.Add(time.Hour)
		for page := range c.ids {
			if c.bits[page][cycle%len(c.bits[page])] {
				c.stale[page] = true
				c.changes[page]++
			}
		}
		c.polls, c.found = 0, 0
		for c.polls < downloads {
			if c.ask(p, downloads-c.polls) == 0 {
				break
			}
		}
		ratios = append(ratios, float64(c.found)/float64(downloads))
	}
	return ratios
}

// ask lets the policy choose up to n pages and tells it what they were like.
func (c *pageSet) ask(p freshet.Policy, n int) int {
	var taken []freshet.Slot
	p.Choose(c.now, n, func(slot freshet.Slot, _ float64) bool {
		taken = append(taken, slot)
		return true
	})
	for _, slot := range taken {
		o := freshet.Outcome{Source: c.ids[slot], Began: c.now, Ended: c.now}
		if c.stale[slot] {
			o.Result = freshet.Changed
			c.found++
		}
		c.stale[slot] = false
		c.visits[slot]++
		c.polls++
		p.Observe(c.now, slot, o)
	}
	return len(taken)
}

func average(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// fairness returns which part of the pages that changed was ever visited.
func (c *pageSet) fairness() float64 {
	changed, visited := 0, 0
	for page := range c.ids {
		if c.changes[page] > 0 {
			changed++
			if c.visits[page] > 0 {
				visited++
			}
		}
	}
	return float64(visited) / float64(changed)
}

func sampling(m policy.SamplingMethod, downloads int, set func(*policy.SamplingConfig)) *policy.Sampling {
	cfg := policy.SamplingConfig{Method: m, Downloads: downloads, Cycle: time.Hour, Start: noon, Samples: 10, Seed: 7}
	if set != nil {
		set(&cfg)
	}
	return policy.NewSampling(cfg)
}

func frequency() *policy.Frequency {
	return policy.NewFrequency(policy.FrequencyConfig{Instant: time.Hour, Floor: -1})
}

// Figure 6 of Cho and Ntoulas at a tenth of its size: five cycles over V-shaped
// sites, with downloads for 28 % of the pages.
func TestOrderOfFigure6(t *testing.T) {
	const sites, pages, downloads = 126, 280, 10_000
	score := func(p freshet.Policy) (float64, *pageSet) {
		c := vShaped(sites, pages, 3)
		return average(c.run(t, p, downloads, 5)), c
	}
	round, _ := score(&policy.Uniform{})
	often, _ := score(frequency())
	prop, _ := score(sampling(policy.SampleProportional, downloads, nil))
	greedy, c := score(sampling(policy.SampleGreedy, downloads, nil))
	adaptive, _ := score(sampling(policy.SampleAdaptive, downloads, nil))
	t.Logf("round-robin %.3f, frequency %.3f, proportional %.3f, greedy %.3f, adaptive %.3f; fairness %.3f",
		round, often, prop, greedy, adaptive, c.fairness())
	if !(greedy > 1.4*often && often >= round && greedy > prop && prop > round) {
		t.Errorf("greedy has to be far above frequency, which is no worse than round-robin, and above proportional")
	}
	if math.Abs(greedy-adaptive) > 0.05 {
		t.Errorf("greedy %.3f and adaptive %.3f, want them near each other", greedy, adaptive)
	}
	if f := c.fairness(); f < 0.7 || f > 0.9 {
		t.Errorf("fairness %.3f after five cycles, want about 0.8", f)
	}
}

// Figure 9: with downloads for 1.4 % of the pages, samples of all sites use up
// what there is, and samples of a subset do not.
func TestSubsetsUnderLowResources(t *testing.T) {
	const sites, pages, downloads = 126, 280, 500
	all := average(vShaped(sites, pages, 3).run(t, sampling(policy.SampleGreedy, downloads, nil), downloads, 10))
	subset := average(vShaped(sites, pages, 3).run(t, sampling(policy.SampleGreedy, downloads,
		func(c *policy.SamplingConfig) { c.High = 0.18; c.Samples = 5 }), downloads, 10))
	t.Logf("all sites %.3f, subsets %.3f", all, subset)
	if subset < all+0.1 {
		t.Errorf("subsets %.3f, want clearly more than %.3f of all sites at once", subset, all)
	}
}

// Figure 15: where pages are alike within a site and round-robin finds most
// changed, greedy and adaptive are above it, and frequency catches up.
func TestOrderOfFigure15(t *testing.T) {
	const sites, pages, downloads = 100, 200, 5600
	score := func(p freshet.Policy) float64 {
		return average(normal(sites, pages, 5).run(t, p, downloads, 5))
	}
	round := score(&policy.Uniform{})
	prop := score(sampling(policy.SampleProportional, downloads, nil))
	greedy := score(sampling(policy.SampleGreedy, downloads, nil))
	adaptive := score(sampling(policy.SampleAdaptive, downloads, nil))
	later := normal(sites, pages, 5).run(t, frequency(), downloads, 12)
	t.Logf("round-robin %.3f, proportional %.3f, greedy %.3f, adaptive %.3f; frequency at first %.3f, later %.3f",
		round, prop, greedy, adaptive, average(later[:4]), average(later[8:]))
	if !(greedy > round+0.05 && adaptive > round+0.03 && prop < greedy) {
		t.Errorf("greedy and adaptive have to be above round-robin and proportional")
	}
	if average(later[8:]) < average(later[:4]) {
		t.Errorf("frequency has to get better as it learns")
	}
}

// Theorem 3: pages that change are all downloaded in the end, by any method and
// also those of a site where few do.
func TestEveryChangingPageIsDownloadedInTheEnd(t *testing.T) {
	for _, m := range []policy.SamplingMethod{policy.SampleGreedy, policy.SampleProportional, policy.SampleAdaptive} {
		c := vShaped(12, 40, 11)
		for page := range c.ids { // none that never changes
			c.bits[page][page%5] = true
		}
		c.run(t, sampling(m, 120, func(c *policy.SamplingConfig) { c.Samples, c.Step = 4, 4 }), 120, 60)
		for page, n := range c.visits {
			if n == 0 {
				t.Errorf("method %d never downloaded %s in 60 cycles", m, c.ids[page])
			}
		}
	}
}

// A share of round-robin bounds how long any page waits.
func TestRoundRobinShareBoundsTheWait(t *testing.T) {
	c := vShaped(12, 40, 13)
	const downloads = 100
	within := int(math.Ceil(float64(len(c.ids)) / (0.3 * downloads)))
	c.run(t, sampling(policy.SampleGreedy, downloads, func(c *policy.SamplingConfig) { c.RoundRobin, c.Samples = 0.3, 2 }), downloads, within)
	for page, n := range c.visits {
		if n == 0 {
			t.Errorf("%s was not visited in %d cycles", c.ids[page], within)
		}
	}
	if c.polls != downloads {
		t.Errorf("%d downloads in the last cycle, want %d", c.polls, downloads)
	}
}
