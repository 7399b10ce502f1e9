package policy

import (
	"cmp"
	"container/heap"
	"math"
	"sort"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/cyclic"
)

// doubt is how far a history is taken for an accident.
const doubt = 0.5

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
		if p.stale() {
			p.fit(c.periods)
		}
		b := &pollBid{slot: freshet.Slot(slot), page: p, period: longest}
		b.changes = p.looks.Shrunk(general, 1) * float64(longest)
		if p.period > 0 {
			b.period = p.period
			b.changes = p.looks.Rate() * float64(p.period)
			b.history = p.history(p.period)
		}
		a.bids = append(a.bids, b)
	}
	a.sell(polls, c.settle)
}

// generalRate returns how often sources change on the whole.
func (c *Cyclic) generalRate() float64 {
	var all estimate.Looks
	for i := range c.pages {
		all.Add(c.pages[i].looks)
	}
	return all.Rate()
}

// settle sets when a source is due with the polls that it got.
func (c *Cyclic) settle(b *pollBid) {
	p := b.page
	if b.polls == len(p.offsets) && (b.polls == 0 || b.period == p.cycle) && !p.refit {
		return
	}
	p.refit = false
	switch {
	case b.polls == 0:
		p.offsets = p.offsets[:0]
	case p.period == 0 || b.polls > b.period/2:
		p.spread(b.period, b.polls)
	default:
		offsets, err := cyclic.Plan(b.history, b.period, b.polls, c.config.Method)
		if err != nil { // no such method, or too large for it
			offsets = cyclic.Spaced(b.period, b.polls, 0)
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
	changes float64         // expected in a period
	history cyclic.Timeline // of a source that keeps to a period
	best    *cyclic.Misses  // of the history, made when it is needed

	polls int     // that it has
	gain  float64 // of one more

	least, most int // polls that it is known to get while prices are tried
}

// saves returns what the n-th poll is worth.
func (b *pollBid) saves(n int) float64 {
	if n > b.period {
		return 0
	}
	return (b.misses(n-1) - b.misses(n)) * b.page.value
}

// worth returns how many polls are worth a price each, if that is known to lie
// between the least and the most.
func (b *pollBid) worth(price float64) int {
	if b.history.Pages == nil {
		return b.least + sort.Search(b.most-b.least, func(n int) bool { return b.saves(b.least+n+1) < price })
	}
	n := b.least
	for n < b.most && b.saves(n+1) >= price {
		n++
	}
	return n
}

// misses returns how many changes a period are expected to be missed with so
// many polls. Of changes that come by chance all but one between two polls are.
// If the source keeps to a period, they are for the most part in proportion to
// those of its history.
func (b *pollBid) misses(polls int) float64 {
	if polls == 0 {
		return b.changes
	}
	n := float64(polls)
	byChance := b.changes + n*math.Expm1(-b.changes/n)
	if b.history.Pages == nil {
		return byChance
	}
	p := b.page
	for len(p.misses) < polls {
		p.misses = append(p.misses, b.missesOfHistory(len(p.misses)+1))
	}
	share := float64(p.misses[polls-1]) / float64(len(b.history.Pages)*len(b.history.Pages[0]))
	return (1-doubt)*b.changes*share + doubt*byChance
}

// missesOfHistory returns the fewest misses in the history with so many polls.
func (b *pollBid) missesOfHistory(polls int) int32 {
	if polls > 1 && b.page.misses[polls-2] == 0 {
		return 0
	}
	if b.best == nil {
		b.best = cyclic.NewMisses(b.history, b.period)
	}
	return int32(b.best.Fewest(polls))
}

// A pollAuction has the bid with the largest gain on top.
type pollAuction struct{ bids []*pollBid }

// sell gives so many polls an instant one by one to the highest bid, and settles
// each bid when it gets no more.
func (a *pollAuction) sell(polls float64, settle func(*pollBid)) {
	polls -= a.open(polls)
	for len(a.bids) > 0 {
		b := a.bids[0]
		cost := 1 / float64(b.period)
		if b.gain <= 0 || polls < cost {
			settle(b)
			heap.Pop(a)
			continue
		}
		polls -= cost
		b.polls++
		b.gain = b.saves(b.polls + 1)
		heap.Fix(a, 0)
	}
}

// open gives each the polls that are worth a price, the lowest at which they are
// no more than there are an instant, and returns how many that is. It is what
// giving them one by one would come to, but for the last few.
func (a *pollAuction) open(polls float64) (given float64) {
	low, high := 0.0, 0.0
	for _, b := range a.bids {
		b.least, b.most = 0, b.period
		high = max(high, 2*b.saves(1))
	}
	for range 40 {
		mid := (low + high) / 2
		dear := a.demand(mid) <= polls
		for _, b := range a.bids { // a lower price brings no fewer, and a higher one no more
			if dear {
				b.least = b.polls
			} else {
				b.most = b.polls
			}
		}
		if dear {
			high = mid
		} else {
			low = mid
		}
	}
	for _, b := range a.bids {
		b.polls = 0
		if high > 0 { // otherwise no poll is worth anything
			b.polls = b.worth(high)
		}
		b.gain = b.saves(b.polls + 1)
		given += float64(b.polls) / float64(b.period)
	}
	heap.Init(a)
	return given
}

// demand returns how many polls an instant are worth a price.
func (a *pollAuction) demand(price float64) (polls float64) {
	for _, b := range a.bids {
		b.polls = b.worth(price)
		polls += float64(b.polls) / float64(b.period)
	}
	return polls
}

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
