package policy

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// beginning returns when the cycle of now began and when it ends, by the clock, and
// which it is. Without cycles by the clock, one begins just now.
func (p *Sampling) beginning(now time.Time) (began, ends, number int64) {
	const many = 1 << 40 // so that cycles before the start have a number, too
	length := p.cfg.Cycle
	switch {
	case length <= 0:
		return now.UnixNano(), math.MaxInt64, 0
	case p.cfg.Calendar != nil:
		n, begins, end := p.cfg.Calendar.cycle(now, length)
		return begins.UnixNano(), end.UnixNano(), n + many
	}
	n := floor(now.Sub(p.cfg.Start), length)
	began = p.cfg.Start.UnixNano() + n*int64(length)
	return began, began + int64(length), n + many
}

// shut returns until when no page may be polled, if so.
func (p *Sampling) shut(now time.Time) (until time.Time, is bool) {
	if p.cfg.Calendar == nil {
		return time.Time{}, false
	}
	until, open := p.cfg.Calendar.open(now)
	return until, !open
}

// open returns for how long pages may be polled in the cycle that begins.
func (p *Sampling) open() time.Duration {
	if p.cfg.Calendar == nil {
		return p.cfg.Cycle
	}
	return p.cfg.Calendar.openFor(time.Unix(0, p.began), time.Unix(0, p.ends))
}

// downloads returns how many polls the cycle that begins has.
func (p *Sampling) downloads() float64 {
	pages := float64(len(p.order))
	switch {
	case p.cfg.Downloads > 0:
		return float64(p.cfg.Downloads)
	case p.cfg.Share > 0:
		return math.Ceil(p.cfg.Share * pages)
	case p.cfg.Cycle > 0 && p.budget > 0:
		return max(1, math.Floor(min(pages, p.budget*p.open().Seconds()/p.cfg.Instant.Seconds())))
	}
	return math.Ceil(pages / 4)
}

// subsetAt returns where the subset of a cycle begins and how many sites it has,
// where one after the other is taken and each site is in one of them.
func subsetAt(sizes []int, pages float64, cycle int64) (start, n int) {
	var starts []int
	for at := 0; at < len(sizes); {
		starts = append(starts, at)
		at += min(Subset(sizes, at, pages), len(sizes)-at)
	}
	i := int(cycle % int64(len(starts)))
	return starts[i], append(starts, len(sizes))[i+1] - starts[i]
}

// A toldPoll is a poll of the cycle under way that is on record from before a
// restart.
type toldPoll struct {
	slot   freshet.Slot
	result freshet.Result
}

// retell takes note, before the first cycle, of a poll that belongs to the cycle by
// the clock that is under way. A first look is none of its downloads.
func (p *Sampling) retell(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	if p.cfg.Cycle <= 0 || p.cycle > 0 || o.Cause != freshet.ByPolicy || o.Result == freshet.First {
		return
	}
	if began, _, _ := p.beginning(now); o.Began.UnixNano() >= began {
		p.told = append(p.told, toldPoll{slot, o.Result})
	}
}

// resume goes on within a cycle by the clock that is under way: what was seen in it
// is not polled again, and its polls so far are its first samples and downloads.
// The pages of a site come in a random order, so the first of them are a fair
// sample whatever they were polled as.
func (p *Sampling) resume() {
	if p.cfg.Cycle <= 0 {
		return
	}
	for slot := range p.pages {
		if p.pages[slot].last > p.began {
			p.pages[slot].cycle = p.cycle
		}
	}
	d := &p.draw
	for _, i := range d.sites {
		site := &p.sites[i]
		slices.SortStableFunc(site.pages, func(a, b freshet.Slot) int { return p.visited(b) - p.visited(a) })
		for site.next < len(site.pages) && p.visited(site.pages[site.next]) == 1 {
			site.next++
		}
	}
	round := min(p.round.left, math.Round(p.cfg.RoundRobin*float64(len(p.told))))
	p.round.left -= round
	d.left += round
	for _, t := range p.told {
		d.left -= p.recount(&p.sites[p.pages[t.slot].site], t.result)
	}
	p.told = nil
	d.wanting = 0
	for _, i := range d.sites {
		if p.sites[i].wants() {
			d.wanting++
		}
	}
}

// recount counts a poll from before a restart, and returns what it cost.
func (p *Sampling) recount(site *sampledSite, r freshet.Result) (cost float64) {
	if site.drawn >= site.want && p.cfg.Method != SampleAdaptive {
		return 1
	}
	cost = p.cfg.SampleCost
	site.drawn++
	switch {
	case r == freshet.Changed || r == freshet.Unchanged:
		site.Sampled++
	case site.vain < site.want:
		site.vain++
		site.drawn--
	}
	if r == freshet.Changed {
		site.Changed++
		if cost < 1 { // it has been found, and was then paid for
			cost++
		}
	}
	return cost
}

// visited returns 1 for a page that was polled in the cycle, and 0 for another.
func (p *Sampling) visited(slot freshet.Slot) int {
	if p.pages[slot].cycle == p.cycle {
		return 1
	}
	return 0
}

// Opens returns when the window opens in which pages may be polled; zero if it is open.
func (p *Sampling) Opens(now time.Time) time.Time {
	opens, _ := p.shut(now)
	return opens
}
