package paper

import (
	"math"
	"math/rand/v2"
)

// A crawl downloads a fixed number of pages of a set in every cycle. A page has
// changed if it did since it was last downloaded: that is all that a crawler
// can see, and only with it do round-robin and the others stand to each other
// as published.
type crawl struct {
	*siteSet
	downloads int // a cycle
	chance    *rand.Rand

	cycle  int      // from 0
	stale  pageBits // changed since they were last downloaded
	ever   pageBits // changed at least once
	seen   pageBits // downloaded at least once
	visits []uint16 // by page
	shown  []pageVisit
	left   int // downloads of this cycle
	found  int // changed pages among those of this cycle
}

// A pageVisit is a download, and whether the page had changed.
type pageVisit struct {
	page    int32
	changed bool
}

// A crawler spends the downloads of one cycle.
type crawler func(c *crawl)

// newCrawl returns a crawl that has yet to begin.
func newCrawl(s *siteSet, downloads int, seed uint64) *crawl {
	return &crawl{
		siteSet: s, downloads: min(downloads, s.pages()), chance: rand.New(rand.NewPCG(seed, 4)),
		stale: newPageBits(s.pages()), ever: newPageBits(s.pages()), seen: newPageBits(s.pages()),
		visits: make([]uint16, s.pages()),
	}
}

// run goes through so many cycles, and returns the share of changed pages among
// the downloads of each. Look, if not nil, is called after each cycle.
func (c *crawl) run(cycles int, spend crawler, look func()) []float64 {
	ratios := make([]float64, 0, cycles)
	for range cycles {
		for i, w := range c.changes(c.cycle) {
			c.stale[i] |= w
			c.ever[i] |= w
		}
		c.left, c.found, c.shown = c.downloads, 0, c.shown[:0]
		spend(c)
		ratios = append(ratios, float64(c.found)/float64(c.downloads))
		c.cycle++
		if look != nil {
			look()
		}
	}
	return ratios
}

// visit downloads a page and reports whether it had changed.
func (c *crawl) visit(page int) bool {
	c.left--
	c.visits[page]++
	c.seen.set(page)
	changed := c.stale.take(page)
	if changed {
		c.found++
	}
	c.shown = append(c.shown, pageVisit{int32(page), changed})
	return changed
}

// fairness returns the share of the pages that have changed which have been
// downloaded.
func (c *crawl) fairness() float64 {
	both := 0
	ever := c.ever.count()
	for page := range c.pages() {
		if c.ever.has(page) && c.seen.has(page) {
			both++
		}
	}
	return float64(both) / float64(max(1, ever))
}

// roundRobin downloads all pages in turn, in an order drawn once.
func roundRobin(c *crawl) crawler {
	order, next := c.chance.Perm(c.pages()), 0
	return func(c *crawl) {
		for c.left > 0 {
			c.visit(order[next])
			next = (next + 1) % len(order)
		}
	}
}

// clairvoyant downloads changed pages as long as there are any.
func clairvoyant(c *crawl) crawler {
	order := c.chance.Perm(c.pages())
	return func(c *crawl) {
		for _, page := range order {
			if c.left == 0 {
				return
			}
			if c.stale.has(page) {
				c.visit(page)
			}
		}
	}
}

// crawlMean returns the mean of values.
func crawlMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// crawlDeviation returns the standard deviation of values around their mean.
func crawlDeviation(values []float64) float64 {
	mean, sum := crawlMean(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(max(1, len(values)-1)))
}
