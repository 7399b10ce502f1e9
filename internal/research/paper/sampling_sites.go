package paper

import "freshet/internal/sched/policy"

// samplingRules are the parts of package policy that the experiments try. Only
// tests put others in their place.
type samplingRules struct {
	greedy, proportional func(sites []policy.Site, downloads float64) []float64
	interval             func(changed, sampled, size int, alpha float64) policy.Interval
	sampleSize           func(pages, ratio, density, threshold, below float64) float64
}

// rulesOfPolicy are those that the daemon follows too.
func rulesOfPolicy() samplingRules {
	return samplingRules{
		greedy: policy.ShareGreedy, proportional: policy.ShareProportional,
		interval: policy.FiniteWilsonInterval, sampleSize: correctedSampleSize,
	}
}

// A siteCycle is a cycle of sampling some sites. Their places are drawn again for
// each, so that none is preferred among equals.
type siteCycle struct {
	*crawl
	sites []policy.Site // by place
	pages [][]int32     // by place: those not yet downloaded
}

// A pageDeck is the pages of every site, each in the order of the last draw.
type pageDeck [][]int32

func newPageDeck(s *siteSet) pageDeck {
	d := make(pageDeck, s.sites())
	for site := range d {
		for page := s.from[site]; page < s.from[site+1]; page++ {
			d[site] = append(d[site], int32(page))
		}
	}
	return d
}

// begin begins a cycle of the given sites.
func (d pageDeck) begin(c *crawl, sites []int) *siteCycle {
	y := &siteCycle{crawl: c}
	c.chance.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	for _, site := range sites {
		y.sites = append(y.sites, policy.Site{Size: len(d[site])})
		y.pages = append(y.pages, d[site])
	}
	return y
}

// draw downloads up to n pages at random of the site in a place, none twice.
func (y *siteCycle) draw(place, n int) (drawn, changed int) {
	pages := y.pages[place]
	n = min(n, len(pages), y.left)
	for i := range n {
		j := i + y.chance.IntN(len(pages)-i)
		pages[i], pages[j] = pages[j], pages[i]
		if y.visit(int(pages[i])) {
			changed++
		}
	}
	y.pages[place] = pages[n:]
	return n, changed
}

// sample draws n pages of the site in a place and learns from them.
func (y *siteCycle) sample(place, n int) {
	drawn, changed := y.draw(place, n)
	y.sites[place].Sampled += drawn
	y.sites[place].Changed += changed
}

// twoStage samples so many pages of every site and shares the rest of the
// downloads out by what they tell.
func twoStage(share func([]policy.Site, float64) []float64, samples int) func(*crawl) crawler {
	return func(c *crawl) crawler {
		deck := newPageDeck(c.siteSet)
		return func(c *crawl) { deck.begin(c, allSites(c.siteSet)).twoStages(share, samples) }
	}
}

// allSites returns the number of every site.
func allSites(s *siteSet) []int {
	sites := make([]int, s.sites())
	for i := range sites {
		sites[i] = i
	}
	return sites
}

// twoStages spends the downloads of the cycle.
func (y *siteCycle) twoStages(share func([]policy.Site, float64) []float64, samples int) {
	for place := range y.sites {
		y.sample(place, samples)
	}
	for place, n := range policy.Whole(share(y.sites, float64(y.left))) {
		y.draw(place, n)
	}
}

// inSubsets is two stages on a subset of the sites in each cycle, round and
// round in an order drawn once. High is the part of the pages that change nearly
// always.
func inSubsets(share func([]policy.Site, float64) []float64, samples int, high float64) func(*crawl) crawler {
	return func(c *crawl) crawler {
		deck, order, start := newPageDeck(c.siteSet), c.chance.Perm(c.sites()), 0
		sizes := make([]int, len(order))
		for i, site := range order {
			sizes[i] = c.size(site)
		}
		return func(c *crawl) {
			var subset []int
			for i := range policy.Subset(sizes, start, policy.SubsetPages(float64(c.downloads), high)) {
				subset = append(subset, order[(start+i)%len(order)])
			}
			start = (start + len(subset)) % len(sizes)
			deck.begin(c, subset).twoStages(share, samples)
		}
	}
}

// adaptive samples step pages of every site at a time until it is told from
// the threshold at the confidence alpha (Algorithm 3.1). What the algorithm
// leaves open: downloads that are left over go to the sites that were dropped,
// the most worth first.
func (u samplingRules) adaptive(step int, alpha float64) func(*crawl) crawler {
	return u.adaptiveAt(policy.CautiousThreshold, step, alpha)
}

// A siteThreshold says from which worth on sites are downloaded.
type siteThreshold func(sites []policy.Site, downloads float64) float64

// adaptiveAt is adaptive with another threshold.
func (u samplingRules) adaptiveAt(threshold siteThreshold, step int, alpha float64) func(*crawl) crawler {
	interval := func(s policy.Site) policy.Interval { return u.interval(s.Changed, s.Sampled, s.Size, alpha) }
	return func(c *crawl) crawler {
		deck := newPageDeck(c.siteSet)
		return func(c *crawl) {
			y := deck.begin(c, allSites(c.siteSet))
			open := allSites(c.siteSet) // places
			for len(open) > 0 && y.left > 0 {
				open = y.round(open, step, threshold, interval)
			}
			for place, n := range policy.Whole(u.greedy(y.measured(), float64(y.left))) {
				y.draw(place, n)
			}
		}
	}
}

// round draws samples of the open sites, downloads those that are above the
// threshold and returns those that are still open.
func (y *siteCycle) round(open []int, step int, threshold siteThreshold, interval func(policy.Site) policy.Interval) (still []int) {
	sites := make([]policy.Site, len(open))
	for i, place := range open {
		y.sample(place, step)
		sites[i] = y.sites[place]
	}
	for i, verdict := range policy.Judge(sites, threshold(sites, float64(y.left)), interval) {
		switch place := open[i]; {
		case verdict == policy.Download:
			y.draw(place, len(y.pages[place]))
		case verdict == policy.Undecided && len(y.pages[place]) > 0:
			still = append(still, place)
		}
	}
	return still
}

// measured returns the sites, each as large as what was sampled of it and what
// can still be downloaded.
func (y *siteCycle) measured() []policy.Site {
	sites := make([]policy.Site, len(y.sites))
	for place, s := range y.sites {
		s.Size = s.Sampled + len(y.pages[place])
		sites[place] = s
	}
	return sites
}
