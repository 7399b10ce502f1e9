package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
)

// A webOfSites is a made-up web for policies that work in cycles: sites with
// directories with pages, of which each has a kind of content that other sites
// have too. Every page has a chance of its own to change in a cycle. One
// instant of the grid is one cycle.
type webOfSites struct {
	Sites, Directories, Pages int // directories of a site, pages of a directory
	Cycles                    int

	// By says what decides how often pages change: "site", "directory" or
	// "kind". Rates of those are V-shaped, many low and some high.
	By string

	// Likeness is how alike the pages are that are decided together: high
	// makes their chances equal, low makes of each either a page that always
	// changes or one that never does.
	Likeness float64

	// Drift is the chance that a page's own chance is drawn again in a cycle.
	Drift float64

	Seed uint64
}

const (
	webCycle = 24 * time.Hour
	webKinds = 12 // of content
)

// pages returns how many there are in all.
func (w webOfSites) pages() int { return w.Sites * w.Directories * w.Pages }

// kindOf returns the kind of content of a page, which its name tells.
func (w webOfSites) kindOf(page int) int { return page * 7 % webKinds }

// grid makes the web up.
func (w webOfSites) grid() (*lab.Grid, error) {
	chance := rand.New(rand.NewPCG(w.Seed, 0x77656273))
	rates := map[string][]float64{
		"site":      siteShares(chance, w.Sites),
		"directory": siteShares(chance, w.Sites*w.Directories),
		"kind":      siteShares(chance, webKinds),
	}[w.By]
	end := beyondStart.Add(time.Duration(w.Cycles) * webCycle)
	h := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for page := range w.pages() {
			id := w.id(page)
			mean := rates[map[string]int{"site": page / (w.Directories * w.Pages), "directory": page / w.Pages, "kind": w.kindOf(page)}[w.By]]
			own := chanceAround(chance, mean, w.Likeness)
			for c := range w.Cycles {
				if w.Drift > 0 && chance.Float64() < w.Drift {
					own = chanceAround(chance, mean, w.Likeness)
				}
				if chance.Float64() < own && !yield(id, beyondStart.Add(time.Duration(c)*webCycle+webCycle/2)) {
					return
				}
			}
			// A history has no pages that never change, and a web has: each
			// changes once after all is over.
			if !yield(id, end.Add(webCycle)) {
				return
			}
		}
	})
	return h.Quantise(lab.Period{Start: beyondStart, End: end, Instant: webCycle})
}

// id names a page.
func (w webOfSites) id(page int) freshet.SourceID {
	directory := page / w.Pages
	return freshet.SourceID(fmt.Sprintf("site%03d/d%02d/%04d-kind%02d", directory/w.Directories, directory%w.Directories, page%w.Pages, w.kindOf(page)))
}

// siteShares draws shares of changed pages as Cho and Ntoulas found them: most low,
// some high, few between. They come in no order.
func siteShares(r *rand.Rand, n int) []float64 {
	rates := make([]float64, n)
	for i := range rates {
		u := (float64(i) + r.Float64()) / float64(n)
		switch {
		case u < .66:
			rates[i] = .19 * u / .66
		case u < .82:
			rates[i] = .2 + .7*(u-.66)/.16
		default:
			rates[i] = .9 + .1*(u-.82)/.18
		}
	}
	r.Shuffle(n, func(i, j int) { rates[i], rates[j] = rates[j], rates[i] })
	return rates
}

// chanceAround draws the chance of a page around the mean of those it is like.
// It is beta distributed with the likeness for its weight; of a heavy one the
// normal distribution is near enough.
func chanceAround(r *rand.Rand, mean, likeness float64) float64 {
	if likeness > 30 {
		return min(1, max(0, mean+r.NormFloat64()*math.Sqrt(mean*(1-mean)/(likeness+1))))
	}
	return betaDraw(r, likeness*mean, likeness*(1-mean))
}

// A webCrawl is what came of a policy that works in cycles.
type webCrawl struct {
	found, polls []int // by cycle
}

// newWebCrawl returns one that has yet to begin.
func newWebCrawl(cycles int) webCrawl { return webCrawl{make([]int, cycles+1), make([]int, cycles+1)} }

// count counts a download in a cycle, and whether it found a change.
func (c webCrawl) count(cycle int, changed bool) {
	c.polls[cycle]++
	if changed {
		c.found[cycle]++
	}
}

// crawlWeb lets a policy crawl, so many downloads a cycle.
func crawlWeb(ctx context.Context, g *lab.Grid, p freshet.Policy, downloads int) (webCrawl, error) {
	c := newWebCrawl(g.Instants)
	_, err := lab.Replay(ctx, g, p, lab.Options{Budget: float64(downloads), Look: func(_, instant int, changed bool) { c.count(instant, changed) }})
	return c, err
}

// ratio returns the share of downloads that found a change, in the cycles after
// one and up to another.
func (c webCrawl) ratio(after, upto int) float64 {
	found, polls := 0, 0
	for i := after + 1; i <= min(upto, len(c.found)-1); i++ {
		found += c.found[i]
		polls += c.polls[i]
	}
	return float64(found) / float64(max(1, polls))
}

// last returns the number of the last cycle.
func (c webCrawl) last() int { return len(c.found) - 1 }

// curve returns the ratio of each cycle, smoothed over some cycles around it.
func (c webCrawl) curve(around int) (points [][2]float64) {
	for i := 1; i <= c.last(); i++ {
		points = append(points, [2]float64{float64(i), c.ratio(max(0, i-1-around), i+around)})
	}
	return points
}
