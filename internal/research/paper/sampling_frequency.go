package paper

import (
	"math"
	"slices"

	"freshet/internal/learn/estimate"
)

// A rateEstimate says how often a page changes, given what downloads found of
// it and how often pages change in general.
type rateEstimate func(known estimate.Looks, general float64) float64

// likelyRate is the likeliest rate, drawn a little towards the general one.
func likelyRate(known estimate.Looks, general float64) float64 { return known.Shrunk(general, .5) }

// cautiousRate is a rate that the true one hardly exceeds: a page that never
// changed may for all one knows have so many changes, the allowance, in the time
// that it was watched for. It takes every change for the only one since the
// download before.
func cautiousRate(allowance float64) rateEstimate {
	return func(known estimate.Looks, _ float64) float64 {
		return (known.Changes + allowance) / (known.Changed + known.Same)
	}
}

// frequency learns how often each page changes and downloads those that have
// most likely changed since. It knows nothing at first, so it downloads every
// page once; then pages come in proportion to their rates, and one that never
// changed comes ever less often.
func frequency(rate rateEstimate) func(*crawl) crawler {
	return func(c *crawl) crawler {
		f := &frequencies{
			order: c.chance.Perm(c.pages()), pages: make([]frequencyRecord, c.pages()),
			scores: make([]float64, c.pages()), sorted: make([]float64, c.pages()),
		}
		return func(c *crawl) {
			f.spend(c)
			for _, v := range c.shown {
				f.pages[v.page].learn(c.cycle, v.changed, &f.all)
			}
			general := f.all.Rate()
			for _, v := range c.shown {
				p := &f.pages[v.page]
				p.rate = rate(p.known, general)
			}
		}
	}
}

// frequencies is what a crawler knows of all pages.
type frequencies struct {
	order          []int // in which pages of equal score come
	pages          []frequencyRecord
	all            estimate.Looks
	scores, sorted []float64
}

// A frequencyRecord is what is known of a page.
type frequencyRecord struct {
	known estimate.Looks
	last  int // the cycle after the one in which it was downloaded; 0 if never
	rate  float64
}

// learn adds what a download in a cycle found. All pages count as seen just
// before the first cycle.
func (p *frequencyRecord) learn(cycle int, changed bool, all *estimate.Looks) {
	waited := float64(cycle + 1 - p.last)
	p.last = cycle + 1
	p.known.See(waited, changed)
	all.See(waited, changed)
}

// spend downloads the pages with the highest scores.
func (f *frequencies) spend(c *crawl) {
	for i := range f.pages {
		p := &f.pages[i]
		f.scores[i] = math.Inf(1)
		if p.last > 0 {
			f.scores[i] = p.rate * float64(c.cycle+1-p.last)
		}
	}
	copy(f.sorted, f.scores)
	least := nthLargest(f.sorted, c.left)
	for page, score := range f.scores {
		if score > least {
			c.visit(page)
		}
	}
	for _, page := range f.order {
		if c.left == 0 {
			return
		}
		if f.scores[page] == least {
			c.visit(page)
		}
	}
}

// nthLargest returns the n-th largest of values, which it puts in another order.
func nthLargest(values []float64, n int) float64 {
	for len(values) > 32 {
		pivot := middleOf(values[0], values[len(values)/2], values[len(values)-1])
		above, below := 0, len(values)
		for i := 0; i < below; {
			switch v := values[i]; {
			case v > pivot:
				values[i], values[above] = values[above], v
				above++
				i++
			case v < pivot:
				below--
				values[i], values[below] = values[below], v
			default:
				i++
			}
		}
		switch {
		case n <= above:
			values = values[:above]
		case n <= below:
			return pivot
		default:
			values, n = values[below:], n-below
		}
	}
	slices.Sort(values)
	return values[len(values)-n]
}

// middleOf returns the middle one of three values.
func middleOf(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
