package lab

import (
	"math"
	"slices"
)

// A market is a bound on utility by prices. Suppose that a poll at instant j
// has to be paid for with prices[j]. Whatever is polled within the budget then
// gains at most what every page gains with the polls that are best for it
// alone, plus the most that a budget can be made to cost. So any prices give a
// bound, and the best prices give the value of the linear relaxation.
type market struct {
	instants int
	budget   float64

	// reply adds to demand[j], for every page, 1 for each poll that it wants
	// at instant j at these prices, and returns what all pages gain, price
	// deducted. Work grows by the steps that it took.
	reply func(prices, demand []float64, work *int) float64

	// tidy, if set, changes prices to others whose bound is no higher. The
	// search does without: it would be held back where they were made equal.
	tidy func(prices []float64)
}

// bound returns the bound at these prices, and sets slope to its slope.
func (m *market) bound(prices, slope []float64, work *int) float64 {
	clear(slope)
	gain := m.reply(prices, slope, work)
	for j := range slope {
		slope[j] = -slope[j]
	}
	return gain + m.supply(prices, slope)
}

// supply returns the most that polls within the budget can cost, and adds to
// slope[j] how many of them are at instant j.
//
// What an instant brings of a fractional budget can be kept for as many
// instants as it takes to fill the token bucket, and is best spent at the dearest
// of them.
func (m *market) supply(prices, slope []float64) (cost float64) {
	keep := 0
	if m.budget != math.Trunc(m.budget) {
		keep = int(math.Ceil(max(1, m.budget) / m.budget))
	}
	best := m.instants + 1 // of the instants from j to j+keep
	for j := m.instants; j >= 1; j-- {
		switch {
		case keep == 0 || best > m.instants || prices[j] >= prices[best]:
			best = j
		case best > j+keep:
			best = j
			for k := j + 1; k <= min(j+keep, m.instants); k++ {
				if prices[k] > prices[best] {
					best = k
				}
			}
		}
		cost += m.budget * prices[best]
		slope[best] += m.budget
	}
	return cost
}

// Bounds on the search for good prices: its work, in steps of a nanosecond or
// two, and how many price lists it tries. A large grid gets a few even so.
const (
	effort   = 1 << 29
	mostTry  = 600
	leastTry = 8
)

// settle returns the lowest bound that it finds, and its prices. It stops when that has
// come down to what was reached. It begins with the given prices in proportion, or
// with a constant one.
func (m *market) settle(reached float64, asks []float64) (least float64, prices []float64) {
	s := search{market: m, mean: make([]float64, m.instants+1), course: make([]float64, m.instants+1), stride: 1}
	s.try(make([]float64, m.instants+1))
	flat := make([]float64, m.instants+1)
	for j := 1; j <= m.instants; j++ {
		flat[j] = 1
	}
	for _, prices := range [][]float64{slices.Clone(asks), flat} {
		if s.work < effort && m.proportion(prices, &s.work) {
			s.try(prices)
		}
	}
	s.stand()
	before := s.least
	for try := 1; try < mostTry && (try < leastTry || s.work < effort); try++ {
		if s.least-reached <= 1e-12*s.least || !s.step(reached) {
			break
		}
		if try%16 == 0 { // the middle of where it wanders is often lower
			s.centre()
		}
		if try%64 == 0 {
			if before-s.least < 1e-5*s.least {
				break
			}
			before = s.least
		}
	}
	if s.tidy != nil {
		s.tidy(s.best)
		s.least = min(s.least, s.bound(s.best, s.spare, &s.work))
	}
	return s.least, s.best
}

// A search goes down the slope of a bound. A slope points down only on one side
// of a fold, so the steps wander and have to shrink.
type search struct {
	*market
	prices, slope []float64
	spare         []float64 // for another slope
	value         float64
	best          []float64 // the prices of the least bound so far
	least         float64
	mean          []float64 // of the prices lately
	course        []float64 // the slope, steadied by those before
	stride        float64
	idle, work    int
}

// try goes to the given prices.
func (s *search) try(prices []float64) {
	if s.slope == nil {
		s.slope, s.spare, s.best = slices.Clone(prices), slices.Clone(prices), slices.Clone(prices)
		s.least = math.Inf(1)
	}
	s.prices = prices
	s.value = s.bound(s.prices, s.slope, &s.work)
	if s.value < s.least {
		if s.value < s.least*(1-1e-6) {
			s.idle = 0
		}
		s.least = s.value
		copy(s.best, s.prices)
	}
}

// centre goes to the mean of the prices lately, if the bound is lower there than
// it ever was.
func (s *search) centre() {
	value := s.bound(s.mean, s.spare, &s.work)
	if value < s.least {
		s.value, s.least, s.idle = value, value, 0
		copy(s.prices, s.mean)
		copy(s.best, s.mean)
		s.slope, s.spare = s.spare, s.slope
	}
}

// stand goes back to the best prices so far.
func (s *search) stand() {
	copy(s.prices, s.best)
	copy(s.mean, s.best)
	clear(s.course)
	s.value = s.bound(s.prices, s.slope, &s.work)
}

// step goes down the slope: by Polyak's rule, as far as would lead to the
// target if the slope stayed as it is. It reports whether there is a slope.
func (s *search) step(target float64) bool {
	const momentum = .6
	norm := 0.0
	for j := 1; j < len(s.prices); j++ {
		if s.prices[j] <= 0 && s.slope[j] > 0 {
			s.slope[j] = 0 // it cannot go there
		}
		s.course[j] = s.slope[j] + momentum*s.course[j]
		norm += s.course[j] * s.course[j]
	}
	if norm == 0 {
		return false
	}
	stride := s.stride * (s.value - target) / norm
	for j := 1; j < len(s.prices); j++ {
		s.prices[j] = max(0, s.prices[j]-stride*s.course[j])
		s.mean[j] += (s.prices[j] - s.mean[j]) / 16
	}
	s.idle++
	s.try(s.prices)
	if s.idle == 8 {
		s.idle = 0
		s.stride *= .6
		s.stand()
	}
	return true
}

// proportion scales prices to where the bound is least, as far as a few tries
// tell, and reports whether that is above zero. A bound is convex in the prices,
// so its slope says on which side the least is.
func (m *market) proportion(prices []float64, work *int) bool {
	scaled, slope := make([]float64, len(prices)), make([]float64, len(prices))
	rises := func(scale float64) bool {
		for j := range scaled {
			scaled[j] = scale * prices[j]
		}
		m.bound(scaled, slope, work)
		sum := 0.0
		for j := range slope {
			sum += slope[j] * prices[j]
		}
		return sum >= 0
	}
	low, high := 0.0, 1.0
	if rises(low) {
		return false
	}
	for !rises(high) && high < 1e12 {
		low, high = high, high*4
	}
	for n := 0; n < 8 && *work < effort; n++ {
		if mid := (low + high) / 2; rises(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	for j := range prices {
		prices[j] *= high
	}
	return true
}
