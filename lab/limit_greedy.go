package lab

import (
	"cmp"
	"math"
	"slices"
)

// greedyMost is how many pages times instants the greedy schedule is worked out
// for. Beyond it a limit stands without a schedule beside it.
const greedyMost = 1 << 30

// greedy returns the utility of the schedule that polls, at every instant, what
// gains most at once. It has at least half of what can be had.
func (b *board) greedy(budget float64) (sum float64) {
	g := b.grid
	if budget <= 0 || len(g.pages)*g.Instants > greedyMost {
		return 0
	}
	born := b.byInstant()
	unseen := slices.Clone(g.first[:len(g.pages)]) // by page: the first change not seen
	var open []int32                               // pages with something to gain
	isOpen := make([]bool, len(g.pages))
	var bids []bid
	purse := 0.0
	for at := 1; at <= g.Instants; at++ {
		for _, page := range born.at(at) {
			if !isOpen[page] {
				isOpen[page] = true
				open = append(open, page)
			}
		}
		bids = bids[:0]
		kept := open[:0]
		for _, page := range open {
			if gain := b.gain(int(page), unseen[page], at); gain > 0 {
				bids = append(bids, bid{page, gain})
				kept = append(kept, page)
			} else {
				isOpen[page] = false
			}
		}
		open = kept
		purse = allowance(purse, budget)
		n := min(int(math.Floor(purse+1e-9)), len(bids))
		slices.SortFunc(bids, func(x, y bid) int { return cmp.Or(cmp.Compare(y.gain, x.gain), cmp.Compare(x.page, y.page)) })
		for _, x := range bids[:n] {
			sum += x.gain
			for unseen[x.page] < g.first[x.page+1] && int(g.at[unseen[x.page]]) <= at {
				unseen[x.page]++
			}
		}
		purse -= float64(n)
	}
	return sum
}

// A bid is what a poll of a page would gain now.
type bid struct {
	page int32
	gain float64
}

// allowance returns what an instant may spend, when so much was left of the one
// before: the rule of package sched.
func allowance(left, budget float64) float64 {
	if budget == math.Trunc(budget) {
		return budget
	}
	return min(left, max(1, budget)) + budget
}

// gain returns what a poll of a page captures, when its changes from a place of
// grid.at on have not been seen.
func (b *board) gain(page, from, at int) (sum float64) {
	s, c := b.page(page)
	to := from
	for end := b.grid.first[page+1]; to < end && int(b.grid.at[to]) <= at; {
		to++
	}
	for after := 0; to-1-after >= from; after++ {
		delay := at - int(b.grid.at[to-1-after])
		if delay >= len(c) || !s.life.Lasts(delay, after) {
			break
		}
		sum += c[delay]
	}
	return s.weight * sum
}

// A calendar lists the pages that change at each instant.
type calendar struct {
	first []int
	pages []int32
}

func (c calendar) at(instant int) []int32 { return c.pages[c.first[instant]:c.first[instant+1]] }

// byInstant returns the changes by instant rather than by page.
func (b *board) byInstant() calendar {
	g := b.grid
	c := calendar{first: make([]int, g.Instants+2), pages: make([]int32, len(g.at))}
	for _, at := range g.at {
		c.first[at+1]++
	}
	for i := 1; i < len(c.first); i++ {
		c.first[i] += c.first[i-1]
	}
	next := slices.Clone(c.first)
	for page := range g.pages {
		for _, at := range g.Of(page) {
			c.pages[next[at]] = int32(page)
			next[at]++
		}
	}
	return c
}
