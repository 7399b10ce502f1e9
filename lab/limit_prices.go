package lab

import "math"

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
// instants as it takes to fill the purse anew, and is best spent at the dearest
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

// effort bounds the work that goes into finding good prices, in steps of about
// a nanosecond or two, and patience the number of price lists tried.
const (
	effort   = 1 << 30
	patience = 600
	leastTry = 12
)

// settle lowers the bound by trying prices, and returns the lowest. It stops
// when it has come down to what was reached.
func (m *market) settle(reached, known float64) float64 {
	prices := make([]float64, m.instants+1)
	slope, course := make([]float64, m.instants+1), make([]float64, m.instants+1)
	work := 0
	value := m.bound(prices, slope, &work)
	least, standing := value, make([]float64, m.instants+1)
	if flat := m.flat(&work); flat > 0 {
		for j := 1; j <= m.instants; j++ {
			prices[j] = flat
		}
		value = m.bound(prices, slope, &work)
		if value < least {
			least = value
			copy(standing, prices)
		}
	}
	stride, idle := 1.0, 0
	target := min(reached, known)
	for try := 0; try < patience && (try < leastTry || work < effort); try++ {
		if least-reached <= 1e-12*least {
			break
		}
		dot, norm := 0.0, 0.0
		for j := 1; j <= m.instants; j++ {
			// A price that would go below zero has no slope there.
			if prices[j] <= 0 && slope[j] > 0 {
				slope[j] = 0
			}
			course[j] = slope[j] + course[j]*momentum
			dot += slope[j] * course[j]
			norm += course[j] * course[j]
		}
		if norm == 0 {
			break // nothing to gain by any other prices
		}
		step := stride * (value - target) / norm
		for j := 1; j <= m.instants; j++ {
			prices[j] = max(0, prices[j]-step*course[j])
		}
		value = m.bound(prices, slope, &work)
		if value < least-1e-6*math.Abs(least) {
			idle = 0
		} else if idle++; idle == 8 {
			idle, stride = 0, stride*.6
			copy(prices, standing)
			clear(course)
			value = m.bound(prices, slope, &work)
		}
		if value < least {
			least = value
			copy(standing, prices)
		}
	}
	return least
}

// momentum is how much of the last course is kept: prices that overshoot now
// to this side, now to the other, are steadied by it.
const momentum = .6

// flat returns the constant price with the least bound, by trisection: a bound
// is convex in the prices.
func (m *market) flat(work *int) float64 {
	prices, slope := make([]float64, m.instants+1), make([]float64, m.instants+1)
	rise := func(p float64) float64 { // of the bound, at p
		for j := 1; j <= m.instants; j++ {
			prices[j] = p
		}
		m.bound(prices, slope, work)
		sum := 0.0
		for _, s := range slope {
			sum += s
		}
		return sum
	}
	low, high := 0.0, 1.0
	if rise(low) >= 0 {
		return 0
	}
	for rise(high) < 0 && high < 1e12 {
		low, high = high, high*4
	}
	for range 20 {
		if mid := (low + high) / 2; rise(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
