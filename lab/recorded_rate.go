package lab

import (
	"math"
	"time"
)

// ifAny returns how many events are expected, when it would be x and there was
// at least one.
func ifAny(x float64) float64 {
	if x < 1e-6 {
		return 1 + x/2
	}
	return x / -math.Expm1(-x)
}

// likeliestRate returns the rate of changes a second at which it is likeliest
// that some windows, of so many seconds, each saw at least one, and that none
// came in so many seconds of others. Half a window without a change is added to
// what was seen, which keeps the rate in bounds where every look found something,
// and takes most of its bias away elsewhere (Cho, Garcia-Molina).
//
// At that rate the sum of w/(e^(rate w)-1) over the windows is as large as the
// time without a change. The sum falls and is convex, and the rate to begin with
// is too low, so that every step of Newton's goes up and none too far.
func likeliestRate(windows []float32, still float64) float64 {
	if len(windows) == 0 {
		return 0
	}
	total := 0.0
	for _, w := range windows {
		total += float64(w)
	}
	still += total / float64(len(windows)) / 2
	rate := float64(len(windows)) / (still + total/2)
	for range 100 {
		excess, slope := -still, 0.0
		for _, window := range windows {
			w := float64(window)
			grown := math.Expm1(rate * w)
			if math.IsInf(grown, 1) || grown == 0 {
				continue
			}
			excess += w / grown
			slope += w / grown * w / grown * (1 + grown)
		}
		if slope == 0 {
			break
		}
		step := excess / slope
		rate += step
		if step <= 1e-9*rate {
			break
		}
	}
	return rate
}

// spanCounts are how often spans of time occurred, to within two in a hundred:
// of ten million the quantiles are wanted, and not the list.
type spanCounts struct {
	bins [2200]struct {
		n   int64
		sum float64
	}
	n int64
}

// perE is how many bins there are to a factor of e.
const perE = 50

// add counts a span of so many nanoseconds, at least 1.
func (c *spanCounts) add(ns int64) {
	b := &c.bins[int(math.Log(float64(ns))*perE)]
	b.n++
	b.sum += float64(ns)
	c.n++
}

// quantile returns the span that the share q of all spans does not exceed; 0 if
// there are none.
func (c *spanCounts) quantile(q float64) time.Duration {
	seen := int64(0)
	for i := range c.bins {
		b := &c.bins[i]
		seen += b.n
		if b.n > 0 && float64(seen) >= q*float64(c.n) {
			return time.Duration(math.Round(b.sum / float64(b.n)))
		}
	}
	return 0
}
