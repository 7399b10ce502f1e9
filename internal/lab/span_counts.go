package lab

import (
	"math"
	"time"
)

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
