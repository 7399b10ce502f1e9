package learn

import (
	"math"

	"freshet/internal/freshet"
)

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
