package paper

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"freshet/internal/lab"
)

// A pageBits is a set of pages.
type pageBits []uint64

func newPageBits(pages int) pageBits { return make(pageBits, (pages+63)/64) }

func (b pageBits) set(page int)      { b[page>>6] |= 1 << (page & 63) }
func (b pageBits) has(page int) bool { return b[page>>6]>>(page&63)&1 != 0 }

// take removes a page and reports whether it was there.
func (b pageBits) take(page int) bool {
	had := b.has(page)
	b[page>>6] &^= 1 << (page & 63)
	return had
}

func (b pageBits) count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// A siteSet is sites of pages, and which pages change in which cycle of
// downloads. When the cycles are over they begin again.
type siteSet struct {
	from   []int // of each site its first page, and at the end how many pages there are
	cycles []pageBits
}

func (s *siteSet) sites() int                 { return len(s.from) - 1 }
func (s *siteSet) pages() int                 { return s.from[len(s.from)-1] }
func (s *siteSet) size(site int) int          { return s.from[site+1] - s.from[site] }
func (s *siteSet) changes(cycle int) pageBits { return s.cycles[cycle%len(s.cycles)] }

// rho returns the share of a site's pages that change in a cycle, on the
// average.
func (s *siteSet) rho(site int) float64 {
	n := 0
	for _, changed := range s.cycles {
		for page := s.from[site]; page < s.from[site+1]; page++ {
			if changed.has(page) {
				n++
			}
		}
	}
	return float64(n) / float64(s.size(site)*len(s.cycles))
}

// perCycle returns how many pages change in a cycle, on the average.
func (s *siteSet) perCycle() float64 {
	n := 0
	for _, changed := range s.cycles {
		n += changed.count()
	}
	return float64(n) / float64(len(s.cycles))
}

// drawSites makes up a set of sites of the given sizes. Rate draws how often a
// page of a site changes.
func drawSites(sizes []int, cycles int, chance *rand.Rand, rate func(site int) float64) *siteSet {
	s := &siteSet{from: []int{0}}
	for _, n := range sizes {
		s.from = append(s.from, s.pages()+n)
	}
	for range cycles {
		s.cycles = append(s.cycles, newPageBits(s.pages()))
	}
	for site := range sizes {
		for page := s.from[site]; page < s.from[site+1]; page++ {
			q := rate(site)
			for _, changed := range s.cycles {
				if chance.Float64() < q {
					changed.set(page)
				}
			}
		}
	}
	return s
}

// A rhoBin is a range of shares of changed pages that so many of the sites have.
type rhoBin struct{ weight, from, to float64 }

// vShape is the distribution of sites over shares of changed pages. The two
// ends are as published, the middle is read off the histogram.
var vShape = []rhoBin{
	{.36, 0, .08}, {.30, .08, .19}, {.07, .2, .3}, {.035, .3, .4}, {.02, .4, .5},
	{.015, .5, .6}, {.01, .6, .7}, {.005, .7, .8}, {.005, .8, .9}, {.18, .9, 1},
}

// quantileOf returns the share that u of the sites do not exceed.
func quantileOf(bins []rhoBin, u float64) float64 {
	for _, b := range bins {
		if u < b.weight {
			return b.from + (b.to-b.from)*u/b.weight
		}
		u -= b.weight
	}
	return bins[len(bins)-1].to
}

// vShapedSet draws sites whose pages hardly change or nearly always do. There
// are five cycles, as many as were recorded. The pages of a site differ much
// from each other: were they alike, far fewer of those that change would be
// visited within five cycles than the published four of five.
func vShapedSet(sizes []int, seed uint64) *siteSet {
	const likeness = .3
	chance := rand.New(rand.NewPCG(seed, 1))
	_, _, vee := rhoShapes()
	rho := vee.draw(chance, len(sizes))
	return drawSites(sizes, 5, chance, func(site int) float64 {
		return betaDraw(chance, likeness*rho[site], likeness*(1-rho[site]))
	})
}

// normalSet draws sites whose share of changed pages is normal around a half,
// and whose pages are alike.
func normalSet(sites, pages, cycles int, seed uint64) *siteSet {
	chance := rand.New(rand.NewPCG(seed, 2))
	_, normal, _ := rhoShapes()
	rho := normal.draw(chance, sites)
	return drawSites(evenSizes(sites, sites*pages), cycles, chance, func(site int) float64 { return rho[site] })
}

// evenSizes shares pages out over sites as evenly as can be.
func evenSizes(sites, pages int) []int {
	sizes := make([]int, sites)
	for i := range sizes {
		sizes[i] = (i+1)*pages/sites - i*pages/sites
	}
	return sizes
}

// unevenSizes shares about so many pages out over sites of which some are many
// times as large as others, as those of the Web are.
func unevenSizes(sites, pages int, seed uint64) []int {
	chance := rand.New(rand.NewPCG(seed, 3))
	weights, sum := make([]float64, sites), 0.0
	for i := range weights {
		weights[i] = math.Exp(chance.NormFloat64())
		sum += weights[i]
	}
	sizes := make([]int, sites)
	for i, w := range weights {
		sizes[i] = max(20, int(math.Round(float64(pages)*w/sum)))
	}
	return sizes
}

// betaDraw draws from a beta distribution by the method of Jöhnk, which suits
// small parameters.
func betaDraw(chance *rand.Rand, a, b float64) float64 {
	if a <= 0 {
		return 0
	}
	for {
		x, y := math.Log(1-chance.Float64())/a, math.Log(1-chance.Float64())/b
		top := max(x, y)
		if sum := top + math.Log(math.Exp(x-top)+math.Exp(y-top)); sum <= 0 {
			return math.Exp(x - sum)
		}
	}
}

// recordedSet reads a trace as cycles of a length. What comes before the first
// slash of a page's name is its site.
func recordedSet(folder, name string, cycle time.Duration) (*siteSet, error) {
	h, err := lab.OpenHistory(filepath.Join(folder, name+".csv.gz"))
	if err != nil {
		return nil, err
	}
	g, err := h.Quantise(lab.Period{Instant: cycle})
	if err != nil {
		return nil, fmt.Errorf("cutting %s into cycles: %w", name, err)
	}
	s := &siteSet{}
	for range g.Instants {
		s.cycles = append(s.cycles, newPageBits(len(g.Pages())))
	}
	last := ""
	for page, id := range g.Pages() {
		if site, _, _ := strings.Cut(string(id), "/"); page == 0 || site != last {
			s.from = append(s.from, page)
			last = site
		}
		for _, at := range g.Of(page) {
			s.cycles[at-1].set(page)
		}
	}
	s.from = append(s.from, len(g.Pages()))
	return s, nil
}
