package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
)

// A round is the part of a cycle that goes round all pages.
type round struct {
	left float64          // downloads of this cycle
	next int              // place in the order of IDs
	id   freshet.SourceID // that is there, should the order change
}

// A draw is the part of a cycle that goes by samples: first it draws them, then
// it follows a plan.
type draw struct {
	left     float64 // downloads of this cycle, in the cost of one
	sampling bool    // samples are still being drawn
	hurried  bool    // and no longer waited for
	flying   int     // samples under way
	wanting  int     // sites of which more samples are to be drawn
	sites    []int32 // that take part
	start    int     // place in the order of names where the next subset begins
	cursor   int     // place in sites where the next sample is drawn; kept, so that all sites have their turn
	open     []bool  // by place in sites: adaptive sampling has not decided
	plan     []freshet.Slot
	head     int // of the plan: what is before it is done
	pending  int // of the plan, not done
}

// Choose implements [freshet.Policy].
func (p *Sampling) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	at := now.UnixNano()
	if until, is := p.shut(now); is {
		p.stalled, p.first.shut = 0, 0 // nobody is kept waiting by a page
		return until
	}
	if p.idle == at {
		return p.again(now)
	}
	p.refused = false
	taken := p.copyFirst(at, n, take)
	for taken < n {
		p.expire(at)
		if !p.running && !p.begin(now) {
			break
		}
		taken += p.advance(at, n-taken, take)
		if p.running {
			break
		}
	}
	switch {
	case taken > 0 || !p.running || p.draw.flying > 0:
		p.stalled = 0
	case p.stalled == 0:
		p.stalled = at
	}
	if taken < n && !p.refused {
		p.idle = at
	}
	return p.again(now)
}

// again returns when to ask again if nothing happens.
func (p *Sampling) again(now time.Time) time.Time {
	switch {
	case p.waits():
		return p.first.again()
	case len(p.order) == 0, p.running && p.draw.flying > 0: // there will be news
		return time.Time{}
	case p.running && p.stalled != 0:
		return time.Unix(0, p.stalled).Add(p.cfg.Patience)
	case p.cfg.Cycle > 0 && p.cycle > 0:
		return time.Unix(0, p.ends)
	}
	return now.Add(p.cfg.Instant)
}

// expire ends what has lasted too long.
func (p *Sampling) expire(at int64) {
	if p.running && at >= p.ends {
		p.running = false
	}
	if p.running && p.stalled != 0 && at-p.stalled >= int64(p.cfg.Patience) {
		p.stalled = 0
		if p.draw.sampling {
			p.draw.hurried = true
		} else {
			p.running = false
		}
	}
}

// begin starts a cycle, if it is time and there is anything to poll. At most
// one begins at a time.
func (p *Sampling) begin(now time.Time) bool {
	at, ends, number := p.beginning(now)
	if at <= p.began || p.waits() {
		return false
	}
	if p.dirty || p.cfg.Cycle > 0 { // by the clock, a cycle is drawn from the same order after a restart
		p.arrange()
	}
	if len(p.order) == 0 {
		return false
	}
	p.cycle++
	p.running, p.began, p.ends, p.number, p.stalled = true, at, ends, number, 0
	downloads := p.downloads()
	p.round.left = math.Round(p.cfg.RoundRobin * downloads)
	if p.cfg.Cycle > 0 {
		p.chance = rand.New(rand.NewPCG(p.cfg.Seed, uint64(at)))
	}
	p.gather(downloads - p.round.left)
	if p.cycle == 1 {
		p.resume()
	}
	return true
}

// gather chooses the sites of the cycle and sets out to sample them.
func (p *Sampling) gather(downloads float64) {
	d := &p.draw
	if d.flying > 0 { // of a cycle that was cut short
		for slot := range p.pages {
			if p.pages[slot].flight == asSample {
				p.pages[slot].flight = asDownload
			}
		}
	}
	sites := p.subset(d.sites[:0], downloads)
	if p.cfg.Cycle > 0 {
		n := int64(len(sites))
		d.cursor = int((p.number % n) * (int64(downloads) % n) % n)
	}
	*d = draw{left: downloads, sampling: true, start: d.start, cursor: d.cursor, sites: sites, open: d.open[:0], plan: d.plan[:0]}
	pages := 0
	for _, i := range d.sites {
		pages += len(p.sites[i].pages)
	}
	for _, i := range d.sites {
		s := &p.sites[i]
		weight := 0.0
		for _, slot := range s.pages {
			weight += float64(p.pages[slot].weight)
		}
		s.Site = Site{Size: len(s.pages), Weight: weight / float64(len(s.pages))}
		s.next, s.drawn, s.vain = 0, 0, 0
		size := max(1, int(math.Round(SampleSize(float64(len(s.pages)), min(downloads/float64(pages), 1)))))
		s.step = cmp.Or(p.cfg.Step, size)
		if s.want = cmp.Or(p.cfg.Samples, size); p.cfg.Method == SampleAdaptive {
			s.want = s.step
		}
		p.chance.Shuffle(len(s.pages), func(a, b int) { s.pages[a], s.pages[b] = s.pages[b], s.pages[a] })
		d.open = append(d.open, true)
	}
	d.wanting = len(d.sites)
}

// subset appends the sites of the cycle to dst, in the order of their names.
func (p *Sampling) subset(dst []int32, downloads float64) []int32 {
	if p.cfg.High <= 0 {
		return append(dst, p.names...)
	}
	sizes := make([]int, len(p.names))
	for at, i := range p.names {
		sizes[at] = len(p.sites[i].pages)
	}
	start, n := p.draw.start%len(sizes), 0
	if pages := SubsetPages(downloads, p.cfg.High); p.cfg.Cycle > 0 {
		start, n = subsetAt(sizes, pages, p.number)
	} else {
		n = Subset(sizes, start, pages)
	}
	for at := range n {
		dst = append(dst, p.names[(start+at)%len(sizes)])
	}
	p.draw.start = (start + n) % len(sizes)
	return dst
}

// advance goes on with the cycle until n are taken, it is over, or nothing more
// can be done now.
func (p *Sampling) advance(at int64, n int, take func(freshet.Slot, float64) bool) int {
	taken := p.goRound(at, p.turn(n), take)
	for taken < n {
		before, settled := taken, false
		if p.draw.sampling {
			taken += p.drawSamples(at, n-taken, take)
			if settled = p.settled(); settled {
				p.settle()
			}
		}
		taken += p.follow(at, n-taken, take)
		if taken == before && !settled {
			break
		}
	}
	if taken < n { // while samples are under way, and at the end
		taken += p.goRound(at, n-taken, take)
	}
	drawn := !p.draw.sampling && (p.draw.left < 1 || p.draw.pending == 0)
	p.running = !drawn || p.round.left >= 1
	return taken
}

// turn returns how many of the next n go round.
func (p *Sampling) turn(n int) int {
	if p.round.left < 1 {
		return 0
	}
	return int(float64(n) * p.round.left / (p.round.left + max(0, p.draw.left)))
}

// goRound takes up to n pages of the round, as far as it may go in this cycle.
func (p *Sampling) goRound(at int64, n int, take func(freshet.Slot, float64) bool) int {
	taken, passed := 0, false
	for range p.order {
		if taken == n || p.round.left < 1 {
			return taken
		}
		if p.round.next >= len(p.order) {
			p.round.next = 0
		}
		slot := p.order[p.round.next]
		switch {
		case !p.free(at, slot): // has been visited in this cycle, or is gone
		case p.take(at, slot, asDownload, float64(p.pages[slot].weight), take):
			taken++
			p.round.left--
		default:
			passed = true
		}
		p.round.next++
		if p.round.next < len(p.order) {
			p.round.id = p.ids[p.order[p.round.next]]
		}
	}
	if n > taken && !passed {
		p.round.left = 0 // there is no page that was not visited
	}
	return taken
}

// free reports whether a page may be offered in this cycle and at this time.
func (p *Sampling) free(at int64, slot freshet.Slot) bool {
	page := &p.pages[slot]
	return p.ids[slot] != "" && page.cycle != p.cycle && page.flight == grounded && page.last < at
}

// take offers a page and notes that it was taken.
func (p *Sampling) take(at int64, slot freshet.Slot, as flight, worth float64, take func(freshet.Slot, float64) bool) bool {
	if !take(slot, worth) {
		p.refused = true
		return false
	}
	page := &p.pages[slot]
	page.cycle, page.last, page.flight = p.cycle, at, as
	if as == asSample {
		p.draw.flying++
	}
	return true
}
