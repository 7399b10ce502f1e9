package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/ranking"
)

// A SamplingMethod is a way of using samples of sites.
type SamplingMethod uint8

// The methods of sampling.
const (
	SampleGreedy       SamplingMethod = iota // all of the best sites
	SampleProportional                       // of each site as its samples had changed
	SampleAdaptive                           // samples until a site is distinguished from the threshold
)

// SamplingConfig says how a Sampling goes about its cycles.
type SamplingConfig struct {
	Method SamplingMethod

	// Downloads is how many polls a cycle has, or Share which share of the pages.
	// If neither is set it is what the budget comes to in a Cycle, and without a
	// Cycle a quarter of the pages.
	Downloads int
	Share     float64

	// Cycle, if set, is how long a cycle lasts by the clock: one begins at Start
	// and every Cycle before and after it, and polls beyond its downloads are left
	// over. A zero Start is a Monday at midnight, UTC. Without a Cycle, one begins
	// as soon as the one before is spent.
	Cycle time.Duration
	Start time.Time

	// Calendar, if set, says when cycles begin instead of Start, and at what times
	// pages are polled.
	Calendar *Calendar

	// Polls is the budget an instant, until limits say otherwise.
	Polls float64

	// Instant is the time in which no page is polled twice; 0 means a second.
	Instant time.Duration

	Samples    int     // of each site; 0 means by SampleSize
	Step       int     // more samples of each site in a round of SampleAdaptive; 0 means by SampleSize
	Alpha      float64 // confidence of SampleAdaptive; 0 means 0.9
	SampleCost float64 // of a download; 0 means 1, and more is taken as 1

	// High, if set, turns on subset sampling: a cycle takes only so many of
	// the sites that its downloads suffice for this part of their pages.
	High float64

	// RoundRobin is the share of the downloads that go round all pages, so that
	// each is visited in a bounded number of cycles.
	RoundRobin float64

	// Patience is how long a cycle waits for pages that may not be polled,
	// before it goes on without them; 0 means a minute.
	Patience time.Duration

	// Group names the site of a source: SiteOf, DirectoryOf, or any label. Nil
	// means SiteOf.
	Group func(freshet.Source) string

	Seed uint64
}

func (c SamplingConfig) withDefaults() SamplingConfig {
	if c.Group == nil {
		c.Group = SiteOf
	}
	if c.Instant <= 0 {
		c.Instant = time.Second
	}
	c.Alpha = cmp.Or(c.Alpha, 0.9)
	c.SampleCost = min(cmp.Or(c.SampleCost, 1), 1)
	c.RoundRobin = max(0, min(c.RoundRobin, 1))
	c.Patience = cmp.Or(c.Patience, time.Minute)
	if c.Start.IsZero() {
		c.Start = firstMonday
	}
	return c
}

// Sampling polls in cycles, after Cho and Ntoulas. Each cycle first polls a few
// pages of every site, drawn at random, and spends the rest of its downloads
// where those had changed. It remembers nothing from one cycle to the next, so
// it needs no history, and no page's own habits can mislead it.
//
// The cycles begin when there is a copy of every page: a page that was never seen
// is polled before all others, and takes part from the next cycle on.
//
// A page has changed if it differs from when it was last seen. As a page that
// waits has ever more reason to be different, every page that changes at all is
// downloaded in the end (Theorem 3).
type Sampling struct {
	cfg    SamplingConfig
	chance *rand.Rand

	pages []sampledPage      // by slot
	ids   []freshet.SourceID // by slot; empty where there is nothing to poll
	order []freshet.Slot     // by ID
	named map[string]int32   // site by name
	sites []sampledSite
	names []int32 // sites by name, those that have pages
	dirty bool    // order, names and the sites' pages are out of date

	first  firstCopy
	told   []toldPoll // of the cycle under way, before the first choice
	budget float64    // polls an instant

	cycle   uint32
	running bool
	began   int64 // when the last cycle did
	ends    int64 // when it is over, by the clock
	number  int64 // which of those by the clock it is, also after a restart
	stalled int64 // since when only what may not be polled is left; 0 if not so
	idle    int64 // time at which nothing more was to be had
	refused bool  // something was, in the present choice

	round round // what goes round all pages
	draw  draw  // what goes by samples
}

// A sampledPage is one source.
type sampledPage struct {
	last   int64 // when it was last taken
	site   int32
	cycle  uint32 // in which it was last taken
	weight float32
	flight flight
	blank  bool // it was never seen
	tried  bool // and this did not change when it was polled
}

// A flight says what a poll under way is for.
type flight uint8

const (
	grounded flight = iota
	asDownload
	asSample
	asFirst // copy
)

// A sampledSite is one site, with what this cycle has found out about it.
type sampledSite struct {
	Site
	name  string
	pages []freshet.Slot // in the random order of the cycle
	next  int            // those before it have been drawn
	drawn int            // polled as samples, without those that others stood in for
	vain  int            // samples that others stood in for
	want  int            // how many samples are to be drawn
	step  int            // how many of them in a round of SampleAdaptive
}

// NewSampling returns a Sampling.
func NewSampling(c SamplingConfig) *Sampling {
	c = c.withDefaults()
	return &Sampling{
		cfg:    c,
		chance: rand.New(rand.NewPCG(c.Seed, 0x73616d70)),
		named:  map[string]int32{},
		began:  math.MinInt64,
		idle:   math.MinInt64,
		budget: c.Polls,
	}
}

// SetLimits sets the limits under which a Sampling chooses.
func (p *Sampling) SetLimits(l sched.Limits) {
	if perSecond := l.Budget.PerSecond(); perSecond > 0 {
		p.budget = perSecond * p.cfg.Instant.Seconds()
	}
}

// Put implements [freshet.Policy]. The page takes part from the next cycle on, once
// it has been seen.
func (p *Sampling) Put(_ time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	p.pages, p.ids = ranking.Grown(p.pages, slot), ranking.Grown(p.ids, slot)
	p.dirty, p.idle = true, math.MinInt64
	p.ids[slot] = s.ID
	if s.Apart() {
		p.ids[slot] = ""
	}
	name := p.cfg.Group(s)
	site, ok := p.named[name]
	if !ok {
		site = int32(len(p.sites))
		p.sites = append(p.sites, sampledSite{name: name})
		p.named[name] = site
	}
	page := &p.pages[slot]
	if page.site != site {
		p.ground(slot)
		page.site, page.cycle = site, p.cycle
	}
	page.weight = float32(s.Importance() / s.Price())
	if !since.IsZero() {
		page.last = max(page.last, since.UnixNano())
	}
	p.first.put(slot, page, since.IsZero())
}

// Remove implements [freshet.Policy].
func (p *Sampling) Remove(slot freshet.Slot) {
	p.ground(slot)
	p.ids[slot], p.dirty = "", true
	p.pages[slot] = sampledPage{site: p.pages[slot].site, cycle: p.cycle} // the next source in the slot waits for the next one
}

// ground ends a poll under way without having learned from it.
func (p *Sampling) ground(slot freshet.Slot) {
	if p.pages[slot].flight == asSample {
		p.draw.flying--
	}
	p.pages[slot].flight = grounded
}

// Observe implements [freshet.Policy]. A page that was polled for another reason
// has been visited in this cycle too, but is no sample.
func (p *Sampling) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	page := &p.pages[slot]
	if page.flight == grounded {
		p.retell(now, slot, o)
	}
	if page.flight == grounded && o.Result.Seen() {
		page.cycle, page.last = p.cycle, max(page.last, o.Began.UnixNano())
	}
	if p.first.observe(page, o.Result.Seen()) { // it takes part from the next cycle on
		p.dirty, p.idle = true, math.MinInt64
	}
	if page.flight == asSample {
		p.learn(&p.sites[page.site], o.Result)
	}
	if page.flight == asSample || page.flight == asFirst {
		p.idle = math.MinInt64
	}
	p.ground(slot)
}

// learn takes in how a sample of a site ended. One that failed, or that had nothing to
// be held against, says nothing of the site: another page stands in for it, but not
// for more of them than the site was to have, as it may be down.
func (p *Sampling) learn(site *sampledSite, r freshet.Result) {
	switch r {
	case freshet.Changed:
		site.Changed++
		if p.cfg.SampleCost < 1 { // has been found, and is yet to be paid for
			p.draw.left--
		}
		fallthrough
	case freshet.Unchanged:
		site.Sampled++
		return
	}
	if site.vain >= site.want {
		return
	}
	wanted := site.wants()
	site.vain++
	site.drawn--
	if !wanted && site.wants() {
		p.draw.wanting++
	}
}

// arrange brings the orders and the sites' pages up to date.
func (p *Sampling) arrange() {
	var at freshet.SourceID
	if p.round.next < len(p.order) {
		at = p.round.id
	}
	p.order, p.names = p.order[:0], p.names[:0]
	for slot, id := range p.ids {
		if id != "" && !p.pages[slot].blank {
			p.order = append(p.order, freshet.Slot(slot))
		}
	}
	slices.SortFunc(p.order, func(a, b freshet.Slot) int { return cmp.Compare(p.ids[a], p.ids[b]) })
	p.round.next, _ = slices.BinarySearchFunc(p.order, at, func(s freshet.Slot, id freshet.SourceID) int {
		return cmp.Compare(p.ids[s], id)
	})
	if p.cycle == 0 { // where the round was before a restart
		for i, slot := range p.order {
			if p.pages[slot].last < p.pages[p.order[p.round.next%len(p.order)]].last {
				p.round.next = i
			}
		}
	}
	for i := range p.sites {
		p.sites[i].pages = p.sites[i].pages[:0]
	}
	for _, slot := range p.order {
		site := &p.sites[p.pages[slot].site]
		site.pages = append(site.pages, slot)
	}
	for i := range p.sites {
		if len(p.sites[i].pages) > 0 {
			p.names = append(p.names, int32(i))
		}
	}
	slices.SortFunc(p.names, func(a, b int32) int { return cmp.Compare(p.sites[a].name, p.sites[b].name) })
	p.dirty = false
}

// SampleSize returns how many pages to sample of a site of so many pages when
// ratio of all pages can be downloaded in a cycle: the square root of their
// product, within half a percent of the best for every distribution of sites
// that was tried.
func SampleSize(pages, ratio float64) float64 { return math.Sqrt(pages * ratio) }

// SubsetPages returns how many pages a subset of the sites should have, so that
// the downloads of one cycle suffice for its often changing part: high is that
// part of all pages.
func SubsetPages(downloads, high float64) float64 { return downloads / high }

// Subset returns how many sites from the one at start on, round and round, make
// up a subset of so many pages: at least one, and none twice.
func Subset(sizes []int, start int, pages float64) int {
	n, sum := 0, 0.0
	for n < len(sizes) {
		sum += float64(sizes[(start+n)%len(sizes)])
		n++
		if sum >= pages {
			break
		}
	}
	return n
}

// An Interval is a range in which a share of changed pages is believed to lie.
type Interval struct {
	Low, High float64
}

// normalBound returns how many standard deviations either way hold alpha of a
// normal distribution.
func normalBound(alpha float64) float64 { return math.Sqrt2 * math.Erfinv(alpha) }

// clipped returns the range from a to b, cut to shares.
func clipped(a, b float64) Interval {
	return Interval{Low: max(0, min(a, 1)), High: min(1, max(b, 0))}
}

// FiniteWilsonInterval is Wilson's interval for n pages drawn without
// replacement out of size. It closes as the samples come to be the whole site.
func FiniteWilsonInterval(x, n, size int, alpha float64) Interval {
	if size <= n {
		p := float64(x) / float64(n)
		return Interval{p, p}
	}
	return wilson(x, n, normalBound(alpha)*math.Sqrt(float64(size-n)/float64(size-1)))
}

func wilson(x, n int, z float64) Interval {
	p, m := float64(x)/float64(n), float64(n)
	mid := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	return clipped((mid-half)/scale, (mid+half)/scale)
}
