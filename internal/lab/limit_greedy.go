package lab

import (
	"cmp"
	"math"
	"slices"
)

// greedy returns the utility of the schedule that polls, at every instant, what
// gains most at once. It has at least half of what can be had. On a grid so
// large that this takes long, it stops polling early.
//
// It also returns, by instant, what the best of those would have gained that
// were not polled: a first idea of what a poll is worth then.
func (b *board) greedy(budget float64) (sum float64, asks []float64) {
	g := b.grid
	asks = make([]float64, g.Instants+1)
	if budget <= 0 {
		return 0, asks
	}
	born := b.byInstant()
	unseen := slices.Clone(g.first[:len(g.pages)]) // by page: the first change not seen, a place in grid.at
	upto := slices.Clone(unseen)                   // by page: the first change that has not happened
	var open []int32                               // pages with something to gain
	isOpen := make([]bool, len(g.pages))
	bids := auction{}
	tokens, work := 0.0, 0
	for at := 1; at <= g.Instants && work < effort; at++ {
		b.rest()
		for _, page := range born.at(at) {
			upto[page]++
			if !isOpen[page] {
				isOpen[page] = true
				open = append(open, page)
			}
		}
		tokens = allowance(tokens, budget)
		bids.open(int(math.Floor(tokens + 1e-9)))
		kept := open[:0]
		for _, page := range open {
			gain := b.gain(int(page), unseen[page], upto[page], at, &work)
			if isOpen[page] = gain > 0; isOpen[page] {
				bids.offer(bid{page, gain})
				kept = append(kept, page)
			}
		}
		open = kept
		asks[at] = bids.lost
		for _, x := range bids.won {
			sum += x.gain
			unseen[x.page] = upto[x.page]
		}
		tokens -= float64(len(bids.won))
	}
	return sum, asks
}

// A bid is what a poll of a page would gain now.
type bid struct {
	page int32
	gain float64
}

// An auction keeps the best bids.
type auction struct {
	places int
	won    []bid   // the best first
	lost   float64 // the gain of the best that did not win
}

// open begins again, with so many to win.
func (a *auction) open(places int) { a.places, a.won, a.lost = places, a.won[:0], 0 }

// offer takes a bid if it is among the best so far. Of equal bids the earlier
// page wins.
func (a *auction) offer(x bid) {
	n := len(a.won)
	if n == a.places && (n == 0 || byGain(a.won[n-1], x) <= 0) {
		a.lost = max(a.lost, x.gain)
		return
	}
	at, _ := slices.BinarySearchFunc(a.won, x, byGain)
	if n == a.places {
		a.lost = max(a.lost, a.won[n-1].gain)
		a.won = a.won[:n-1]
	}
	a.won = slices.Insert(a.won, at, x)
}

func byGain(x, y bid) int {
	return cmp.Or(cmp.Compare(y.gain, x.gain), cmp.Compare(x.page, y.page))
}

// allowance returns what an instant may spend, when so much was left of the one
// before: the rule of package sched.
func allowance(left, budget float64) float64 {
	if budget == math.Trunc(budget) {
		return budget
	}
	return min(left, max(1, budget)) + budget
}

// gain returns what a poll of a page captures at an instant, of the changes in
// grid.at[from:to].
func (b *board) gain(page, from, to, at int, work *int) (sum float64) {
	s, c := b.page(page)
	for after := 0; to-1-after >= from; after++ {
		delay := at - int(b.grid.at[to-1-after])
		if delay >= len(c) || !s.life.Lasts(delay, after) {
			break
		}
		sum += c[delay]
		*work++
	}
	*work++
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
