package learn

import (
	"math"

	"freshet/internal/freshet"
)

// The features of a correction: what has been seen in the stretch of time since
// a source was last polled, and how far the profiles bend it. All are logarithms
// of ratios, and 0 where there is nothing to say.
const (
	always     = iota // 1: how far expectations are off on the whole
	everywhere        // activity of all sources
	onSite            // activity of the site, beyond that
	profileOfSite
	profileOfPage
	features
)

// A feature vector describes the stretch since the last poll of a source.
type vector [features]float64

// A correction is a regression, for all sources together, of whether polls find
// a change on the features, on top of what is expected without it (with the
// complementary log-log link, so that what is expected has the exponent 1). A
// weight of -1 on a profile switches it off: that is how evidence gates it.
type correction struct {
	weight vector
	doubt  [features]vector // covariance of the weights
}

func newCorrection() (c correction) {
	c.weight[everywhere], c.weight[onSite] = 0.5, 0.5
	for i := range c.doubt {
		c.doubt[i][i] = 0.04
	}
	return c
}

// mostCorrected bounds the logarithm of a correction.
const mostCorrected = 6

// log returns the logarithm of the correction of what is expected.
func (c *correction) log(f *vector) (sum float64) {
	for i, w := range c.weight {
		sum += w * f[i]
	}
	return min(mostCorrected, max(-mostCorrected, sum))
}

// level returns how many times as many changes there are as the rates say, on the whole.
func (c *correction) level() float64 {
	return math.Exp(min(mostCorrected, max(-mostCorrected, c.weight[always])))
}

// expect returns the changes expected, if the chance of any was without the
// correction.
func (c *correction) expect(f *vector, chance float64) float64 {
	return c.correct(f, -math.Log1p(-chance))
}

// correct returns the changes expected, if they were so many without the
// correction.
func (c *correction) correct(f *vector, expected float64) float64 {
	sum := math.Log(expected)
	for i, w := range c.weight {
		sum += w * f[i]
	}
	return math.Exp(min(2.5, max(-12, sum)))
}

// learn takes one step of an extended Kalman filter.
func (c *correction) learn(f *vector, expected float64, changed bool) {
	odds := math.Exp(-expected) / -math.Expm1(-expected)
	slope := -expected
	if changed {
		slope = min(4, expected*odds)
	}
	slope = max(-4, slope)
	information := expected * expected * odds
	var along vector
	across := 0.0
	for i := range along {
		for j, x := range f {
			along[i] += c.doubt[i][j] * x
		}
		across += f[i] * along[i]
	}
	shrink := 1 / (1 + information*across)
	for i := range along {
		for j := range along {
			c.doubt[i][j] -= information * shrink * along[i] * along[j]
		}
		c.weight[i] += shrink * along[i] * slope
	}
}

// A credit says how far what is known of a source beyond its like is to be
// believed when polls are given out. The mean rate of a source, and that of its
// pool, lean on rates that few sources have: one change, and a source may be one of
// the fast ones. Where sources differ much it pays to find out; where they are all
// alike, it is a poll wasted after every change. Which it is shows when polls find
// less than the rates said: what they found is regressed on both ratios, as in a
// [correction]. A weight of 0 believes a ratio, one of -1 takes all for alike, and
// below that it is those that have just changed which are the least likely to again.
type credit struct {
	correction
}

// The ratios that a credit weighs, as logarithms, beside always.
const (
	pageInPool = always + 1 + iota // the rate of a source next to that of its pool
	poolInAll                      // that of its pool next to that of all
)

// What is thought of the weights before any poll: that ratios say somewhat too
// much; and how sure that is.
const (
	firstCredit   = -0.5
	leastCredit   = -1.5
	doubtOfLevel  = 0.25
	doubtOfPage   = 0.1
	doubtOfPool   = 0.4
	fullestCredit = 0
)

func newCredit() (c credit) {
	c.weight[pageInPool], c.weight[poolInAll] = firstCredit, firstCredit
	c.doubt[always][always] = doubtOfLevel
	c.doubt[pageInPool][pageInPool] = doubtOfPage
	c.doubt[poolInAll][poolInAll] = doubtOfPool
	return c
}

// bounded returns a weight as it is used.
func (c *credit) bounded(ratio int) float64 {
	return min(fullestCredit, max(leastCredit, c.weight[ratio]))
}

// log returns the logarithm of what to make of changes that are expected at a
// rate, where that of the pool and that of all are such. Of the level nothing is
// made: it is the same for all sources.
func (c *credit) log(rate, pool, all float64) float64 {
	return c.bounded(pageInPool)*math.Log(rate/pool) + c.bounded(poolInAll)*math.Log(pool/all)
}

// see takes in whether a poll found a change where so many were expected without
// the credit.
func (c *credit) see(expected, rate, pool, all float64, changed bool) {
	f := vector{always: 1, pageInPool: math.Log(rate / pool), poolInAll: math.Log(pool / all)}
	c.learn(&f, c.correct(&f, max(expected, tiny)), changed)
}

// Credit returns how many times as much as its rate says is expected of a source
// when polls are given out.
func (l *Learner) Credit(slot freshet.Slot) float64 {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return 1
	}
	pool := l.priorOf(l.pages.At(slot)).mean(&l.grid)
	return math.Exp(l.credit.log(l.know(slot), pool, l.all.prior.mean(&l.grid)))
}
