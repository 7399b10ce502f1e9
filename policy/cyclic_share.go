package policy

import (
	"cmp"
	"container/heap"
	"math"

	"freshet"
)

// plan shares polls, so many an instant, out over the sources and sets when each
// is due.
func (c *Cyclic) plan(polls float64) {
	a := &pollAuction{}
	general := c.generalRate()
	longest := c.periods[len(c.periods)-1]
	for slot := range c.pages {
		p := &c.pages[slot]
		if p.id == "" || p.paused {
			continue
		}
		if p.stale {
			p.fit(c.periods)
		}
		b := &pollBid{slot: freshet.Slot(slot), page: p, period: longest}
		b.changes = p.evidence.Shrunk(general, 1) * float64(longest)
		if p.period > 0 {
			b.period = p.period
			b.changes = p.evidence.Rate() * float64(p.period)
			b.history = History{Pages: [][]int{p.timely(p.period)}}
			b.window = newLinkWindow(b.history, p.period)
		}
		b.missed = b.misses(0)
		b.raise()
		a.bids = append(a.bids, b)
	}
	heap.Init(a)
	for len(a.bids) > 0 {
		b := a.bids[0]
		cost := 1 / float64(b.period)
		if b.gain <= 0 || polls < cost {
			c.settle(b)
			heap.Pop(a)
			continue
		}
		polls -= cost
		b.polls++
		b.raise()
		heap.Fix(a, 0)
	}
}

// generalRate returns how often sources change on the whole.
func (c *Cyclic) generalRate() float64 {
	var e Evidence
	for i := range c.pages {
		o := c.pages[i].evidence
		e.Changes += o.Changes
		e.Changed += o.Changed
		e.Same += o.Same
	}
	return e.Rate()
}

// settle sets when a source is due with the polls that it got.
func (c *Cyclic) settle(b *pollBid) {
	p := b.page
	if b.polls == len(p.offsets) && (b.polls == 0 || b.period == p.cycle) && !p.stale {
		return
	}
	p.stale = false
	switch {
	case b.polls == 0:
		p.offsets = p.offsets[:0]
	case p.period == 0 || b.polls > b.period/2:
		p.spread(b.period, b.polls)
	default:
		offsets, err := Plan(b.history, b.period, b.polls, c.config.Method)
		if err != nil { // no such method, or too large for it
			offsets = even(b.period, b.polls, 0)
		}
		p.set(b.period, offsets)
	}
	c.expect(b.slot, c.now)
}

// A pollBid is what a source would gain by one more poll a period.
type pollBid struct {
	slot    freshet.Slot
	page    *cyclicPage
	period  int
	changes float64 // expected in a period
	history History
	window  *linkWindow // on the history; nil if the source keeps to no period

	polls  int     // that it has
	missed float64 // with these
	left   float64 // with one more
	gain   float64 // of one more
}

// raise sets what one more poll would gain.
func (b *pollBid) raise() {
	if b.polls > 0 {
		b.missed = b.left
	}
	b.gain = 0
	if b.polls < b.period {
		b.left = b.misses(b.polls + 1)
		b.gain = (b.missed - b.left) * b.page.value
	}
}

// misses returns how many changes a period are expected to be missed with so
// many polls.
func (b *pollBid) misses(polls int) float64 {
	switch {
	case polls == 0:
		return b.changes
	case b.window == nil: // all but one of those that come by chance between polls
		n := float64(polls)
		return b.changes + n*math.Expm1(-b.changes/n)
	case polls >= len(b.window.stops):
		return 0
	}
	_, cost := cheapest[int64](b.window, len(b.window.stops), polls, 0)
	return b.changes * float64(cost/b.window.miss) / float64(b.window.changes)
}

// A pollAuction has the bid with the largest gain on top.
type pollAuction struct{ bids []*pollBid }

// Len implements [heap.Interface].
func (a *pollAuction) Len() int { return len(a.bids) }

// Less implements [heap.Interface].
func (a *pollAuction) Less(i, j int) bool {
	x, y := a.bids[i], a.bids[j]
	return cmp.Or(cmp.Compare(y.gain, x.gain), cmp.Compare(x.page.id, y.page.id)) < 0
}

// Swap implements [heap.Interface].
func (a *pollAuction) Swap(i, j int) { a.bids[i], a.bids[j] = a.bids[j], a.bids[i] }

// Push implements [heap.Interface].
func (a *pollAuction) Push(x any) { a.bids = append(a.bids, x.(*pollBid)) }

// Pop implements [heap.Interface].
func (a *pollAuction) Pop() any {
	last := a.bids[len(a.bids)-1]
	a.bids = a.bids[:len(a.bids)-1]
	return last
}
