package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
)

// samplingExperiments are those of this paper.
func samplingExperiments() []Experiment { return rulesOfPolicy().experiments() }

func (u samplingRules) experiments() []Experiment {
	list := []Experiment{
		{Where: "figure 1", Cost: 1, Run: u.twoSites},
		{Where: "theorem 2", Cost: 1, Fixed: true, Run: u.sampleSizes},
		{Where: "figure 16", Cost: 1, Fixed: true, Run: wrongSites},
		{Where: "figure 5", Cost: 1, Run: u.histogram},
		{Where: "figure 6", Cost: 3, Run: u.comparison},
		{Where: "figure 7", Cost: 7, Run: u.sampleCounts},
		{Where: "figures 8 and 9", Cost: 12, Run: u.resources},
		{Where: "figure 10", Cost: 15, Run: u.longTerm},
		{Where: "figures 11 and 12", Cost: 10, Run: u.adaptiveSettings},
		{Where: "figures 13 and 14", Cost: 2, Run: u.greediness},
		{Where: "figure 15", Cost: 2, Run: u.normalSites},
	}
	for i := range list {
		list[i].Paper = Sampling
	}
	return list
}

// What the paper set its policies to: "rather arbitrarily", and good enough.
const (
	paperSamples = 10
	paperStep    = 10
	paperAlpha   = .9
	paperCycles  = 5
	paperHigh    = .18 // of the sites are in the right peak of the histogram
)

// A crawlSize is how large the V-shaped set is.
type crawlSize struct {
	sites, pages, downloads int
	runs                    int // over which figures are averaged, each with other samples
	scale                   int // by which sites and downloads are fewer than published
}

// sizeOf returns the published size or, in a hurry, a quarter of the sites: so
// each has as many pages and as large a share of the downloads.
func sizeOf(s Options) crawlSize {
	if s.Quick {
		return crawlSize{63, 88_250, 25_000, 4, 4}
	}
	return crawlSize{252, 353_000, 100_000, 8, 1}
}

// set draws the V-shaped set of the size.
func (z crawlSize) set(s Options) *siteSet { return vShapedSet(evenSizes(z.sites, z.pages), s.Seed) }

// about says what an experiment ran on.
func (z crawlSize) about(s Options) string {
	return fmt.Sprintf("V-shaped set of %d sites with %d pages, %d downloads a cycle, seed %d.", z.sites, z.pages, z.downloads, s.Seed)
}

// A trial is what a crawler came to on a set.
type trial struct {
	mean      float64 // changed among the downloads
	deviation float64 // of that between the cycles of a run
}

// try runs a crawler for the published cycles, as often as asked.
func (z crawlSize) try(ctx context.Context, set *siteSet, downloads int, seed uint64, start func(*crawl) crawler) (trial, error) {
	var t trial
	for run := range z.runs {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		c := newCrawl(set, downloads, seed+uint64(run)*1000)
		ratios := c.run(paperCycles, start(c), nil)
		t.mean += crawlMean(ratios) / float64(z.runs)
		t.deviation += crawlDeviation(ratios) / float64(z.runs)
	}
	return t, nil
}

// A namedCrawler is a policy under the name that figures give it.
type namedCrawler struct {
	name  string
	start func(*crawl) crawler
}

// five are the policies of figures 6 and 15, in their order.
func (u samplingRules) five(samples int) []namedCrawler {
	return []namedCrawler{
		{"round-robin", roundRobin},
		{"frequency", frequency(likelyRate)},
		{"proportional", twoStage(u.proportional, samples)},
		{"greedy", twoStage(u.greedy, samples)},
		{"adaptive", u.adaptive(paperStep, paperAlpha)},
	}
}

// The places of the five policies.
const (
	ofRoundRobin = iota
	ofFrequency
	ofProportional
	ofGreedy
	ofAdaptive
)

// A samplingVerdict judges a claim of the paper on sampling. Why is told where
// it does not hold; "" stands for a reason that is not known.
func samplingVerdict(where, claim, expected string, holds bool, why, measured string, args ...any) Claim {
	c := Claim{Paper: Sampling, Where: where, Claim: claim, Expected: expected, Holds: holds, Measured: fmt.Sprintf(measured, args...)}
	if !holds {
		c.Why = cmp.Or(why, "the set does not bear it out at this seed and size")
	}
	return c
}

// near reports whether two values are no further apart than that.
func near(a, b, apart float64) bool { return a-b <= apart && b-a <= apart }

// figuresOf writes values with three digits.
func figuresOf(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%.3f", v)
	}
	return strings.Join(words, ", ")
}

// printedSampleSize is Theorem 2 of Cho and Ntoulas as printed. Density is that
// of the sites at the share of changed pages above which sites are downloaded,
// above the mean share of those sites and mean that of all. Its derivation
// slips, and its answer is too small; see correctedSampleSize.
func printedSampleSize(pages, ratio, density, above, mean float64) float64 {
	return math.Sqrt(pages * ratio * density / (6 * (above - mean)))
}

// correctedSampleSize is Theorem 2 derived again: what samples displace is the
// marginal download (a site at the threshold), a share of the samples would
// have been downloaded anyhow, and the estimate's variance is that of a
// proportion. Below is the mean share of changed pages of the sites that are
// not downloaded.
func correctedSampleSize(pages, ratio, density, threshold, below float64) float64 {
	return math.Sqrt(pages * density * threshold * (1 - threshold) / (2 * (1 - ratio) * (threshold - below)))
}
