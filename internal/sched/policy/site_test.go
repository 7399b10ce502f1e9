package policy_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sched/policy"
)

func drawSites(t *rapid.T, most, size int) []policy.Site {
	sites := make([]policy.Site, rapid.IntRange(1, most).Draw(t, "sites"))
	for i := range sites {
		s := &sites[i]
		s.Size = rapid.IntRange(1, size).Draw(t, "size")
		s.Sampled = rapid.IntRange(0, s.Size).Draw(t, "sampled")
		s.Changed = rapid.IntRange(0, s.Sampled).Draw(t, "changed")
		s.Weight = rapid.SampledFrom([]float64{0, 0.5, 1, 3}).Draw(t, "weight")
	}
	return sites
}

func total(shares []float64) float64 {
	sum := 0.0
	for _, x := range shares {
		sum += x
	}
	return sum
}

// worthOf returns what shares are expected to bring, weighted.
func worthOf(sites []policy.Site, shares []float64) float64 {
	sum := 0.0
	for i, s := range sites {
		sum += s.Worth() * shares[i]
	}
	return sum
}

// Theorem 1 of Cho and Ntoulas: no other way to give out the downloads is
// expected to bring more than the greedy one.
func TestGreedyIsTheBestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sites := drawSites(t, 4, 5)
		downloads := rapid.IntRange(0, 12).Draw(t, "downloads")
		best := 0.0
		shares := make([]float64, len(sites))
		var try func(i, left int)
		try = func(i, left int) {
			if i == len(sites) {
				best = max(best, worthOf(sites, shares))
				return
			}
			for n := range min(left, sites[i].Left()) + 1 {
				shares[i] = float64(n)
				try(i+1, left-n)
			}
		}
		try(0, downloads)
		if got := worthOf(sites, policy.ShareGreedy(sites, float64(downloads))); math.Abs(got-best) > 1e-9 {
			t.Errorf("greedy brings %v, want %v", got, best)
		}
	})
}

// Both ways of sharing use every download there is a page for, and no page that
// is not there; in whole downloads too.
func TestSharesAreUsedAndWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sites := drawSites(t, 8, 50)
		downloads := rapid.IntRange(0, 300).Draw(t, "downloads")
		room := 0
		for _, s := range sites {
			room += s.Left()
		}
		for _, share := range []func([]policy.Site, float64) []float64{policy.ShareGreedy, policy.ShareProportional} {
			shares := share(sites, float64(downloads))
			if got, want := total(shares), float64(min(downloads, room)); math.Abs(got-want) > 1e-6 {
				t.Errorf("%v downloads given out, want %v", got, want)
			}
			sum := 0
			for i, n := range policy.Whole(shares) {
				sum += n
				if n < 0 || n > sites[i].Left() {
					t.Errorf("%d downloads of a site with %d pages left", n, sites[i].Left())
				}
			}
			if sum != min(downloads, room) {
				t.Errorf("%d whole downloads, want %d", sum, min(downloads, room))
			}
		}
	})
}

func TestThresholdWhenThereIsEnoughForAll(t *testing.T) {
	sites := []policy.Site{{Size: 20, Sampled: 10}, {Size: 20, Sampled: 10, Changed: 1}, {Size: 20}}
	interval := func(s policy.Site) policy.Interval {
		return policy.FiniteWilsonInterval(s.Changed, s.Sampled, vast, 0.9)
	}
	verdicts := policy.Judge(sites, policy.Threshold(sites, 40), interval)
	if verdicts[0] != policy.Download || verdicts[1] != policy.Download {
		t.Errorf("verdicts %v, want to download all that was sampled", verdicts)
	}
	if verdicts[2] != policy.Undecided {
		t.Errorf("verdicts %v, want no verdict on a site without samples", verdicts)
	}
}

// After one sample of each site nothing is decided at a high confidence, whatever
// came of it, because no site is told from a threshold that is one of the estimates.
func TestOneSampleDecidesNothing(t *testing.T) {
	var sites []policy.Site
	for i := range 20 {
		sites = append(sites, policy.Site{Size: 100, Sampled: 1, Changed: i % 2})
	}
	decided := func(threshold, alpha float64) (n int) {
		for _, v := range policy.Judge(sites, threshold, func(s policy.Site) policy.Interval {
			return policy.FiniteWilsonInterval(s.Changed, s.Sampled, s.Size, alpha)
		}) {
			if v != policy.Undecided {
				n++
			}
		}
		return n
	}
	for _, downloads := range []float64{400, 990, 1500} {
		threshold := policy.CautiousThreshold(sites, downloads)
		for _, alpha := range []float64{0.9, 0.95, 0.99} {
			if n := decided(threshold, alpha); n > 0 {
				t.Errorf("%d sites are decided after one sample at %v with %v downloads", n, alpha, downloads)
			}
		}
	}
	if n := decided(policy.Threshold(sites, 1500), 0.99); n == 0 {
		t.Error("the bare threshold decides nothing either, so this test shows nothing")
	}
	if a, b := policy.CautiousThreshold(sites, 1500), policy.CautiousThreshold(sites, 400); a != 1.0/3 || b != 2.0/3 {
		t.Errorf("thresholds %v and %v, want 1/3 and 2/3", a, b)
	}
}
