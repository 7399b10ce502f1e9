package policy

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/ranking"
)

// FrequencyConfig says how a Frequency polls.
type FrequencyConfig struct {
	Objective Objective // what the polls are for; Recall unless set

	// Instant is the time in which no source is polled twice; 0 means a second.
	Instant time.Duration

	// Rate is the budget in polls an instant. At 0 it is taken from the polls
	// that were granted of late.
	Rate float64

	// Floor is the share of the polls that is spread evenly over all sources,
	// so that none is given up for good on a wrong belief. 0 means 0.05, and
	// less than 0 none.
	Floor float64

	// Memory is over how many polls of a source what they found is forgotten,
	// little by little, as few sources keep to one rate. 0 means 50, and less
	// than 0 that nothing is.
	Memory float64

	// Prior is how many changes the rate of sources in general counts for in
	// the rate of each; 0 means a half.
	Prior float64
}

func (c FrequencyConfig) withDefaults() FrequencyConfig {
	if c.Instant <= 0 {
		c.Instant = time.Second
	}
	c.Floor = max(0, min(cmp.Or(c.Floor, 0.05), 1))
	c.Prior = cmp.Or(c.Prior, 0.5)
	c.Memory = cmp.Or(c.Memory, 50)
	return c
}

// Frequency polls each source as often as serves its objective best, by the
// rate at which polls have found it changed. It visits every source once before
// any twice, as it knows nothing of them before; then the polls of each are
// spaced evenly, and the one that is due first, or most overdue, goes first.
//
// The price of a poll that makes the frequencies fit the budget is worked out
// again when as many outcomes have come in as an eighth of the sources.
type Frequency struct {
	cfg     FrequencyConfig
	queue   ranking.Queue
	pages   []frequencyPage // by slot
	present int             // sources that are polled
	news    int             // outcomes since the last plan
	polls   int             // granted since the last plan
	planned int64           // when the last plan was made
	general float64         // changes an instant of a source in general
	price   float64
	even    float64 // frequency that every source gets
	idle    int64   // time at which nothing more was to be had

	rates []float64      // by slot: room for planning
	aside []freshet.Slot // room for choosing
}

// A frequencyPage is what is known of one source: 24 bytes, as there may be
// millions.
type frequencyPage struct {
	last                   int64   // when it was last seen, in nanoseconds since 1970
	changes, changed, same float32 // as in estimate.Looks, in instants
	weight                 float32 // 0 where the slot is not polled
}

// replan is after how many outcomes at least there is a new plan.
const replan = 32

// unvisited is when a source is due of which no outcome is known: before all
// others, and among its like the longest unseen first.
const unvisited = math.MinInt64

// NewFrequency returns a Frequency.
func NewFrequency(c FrequencyConfig) *Frequency {
	return &Frequency{cfg: c.withDefaults(), idle: math.MinInt64, planned: math.MinInt64}
}

// Put implements [freshet.Policy].
func (f *Frequency) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	f.pages = ranking.Grown(f.pages, slot)
	page := &f.pages[slot]
	if !f.queue.Is(slot, s.ID) {
		*page = frequencyPage{}
		f.queue.Name(slot, s.ID)
		page.last = now.UnixNano()
		f.queue.Note(slot, unvisited)
		if !since.IsZero() {
			page.last = since.UnixNano()
			f.queue.Note(slot, unvisited+page.last)
		}
	}
	f.idle = math.MinInt64
	was := page.weight > 0
	page.weight = float32(s.Importance() / s.Price())
	if s.Apart() {
		page.weight = 0
	}
	switch is := page.weight > 0; {
	case is && !was:
		f.present++
		f.queue.Set(slot, f.queue.Due(slot))
	case was && !is:
		f.present--
		f.queue.Drop(slot)
	}
}

// Remove implements [freshet.Policy].
func (f *Frequency) Remove(slot freshet.Slot) {
	if f.pages[slot].weight > 0 {
		f.present--
	}
	f.queue.Forget(slot)
	f.pages[slot] = frequencyPage{}
}

// Choose implements [freshet.Policy].
func (f *Frequency) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	at := now.UnixNano()
	again := now.Add(f.cfg.Instant)
	if f.idle == at {
		return again
	}
	if f.planned == math.MinInt64 {
		f.planned = at
	}
	if f.news >= max(replan, f.present/8) {
		f.plan(at)
	}
	taken, refused := 0, false
	f.aside = f.aside[:0]
	for taken < n {
		slot, due, ok := f.queue.First()
		if !ok || due == ranking.Never {
			break
		}
		f.queue.Drop(slot)
		switch page := &f.pages[slot]; {
		case page.last >= at && due != unvisited: // seen in this very instant
			f.aside = append(f.aside, slot)
		case take(slot, f.worth(page, at)):
			taken++
		default:
			f.aside = append(f.aside, slot)
			refused = true
		}
	}
	for _, slot := range f.aside {
		f.queue.Set(slot, f.queue.Due(slot))
	}
	f.polls += taken
	if taken < n && !refused {
		f.idle = at
	}
	return again
}

// worth returns the chance that a poll finds a change, times its weight.
func (f *Frequency) worth(page *frequencyPage, at int64) float64 {
	rate := page.looks().Shrunk(f.general, f.cfg.Prior)
	if rate <= 0 { // nothing is known yet
		return float64(page.weight)
	}
	return float64(page.weight) * -math.Expm1(-rate*f.instants(max(at-page.last, 1)))
}

// Observe implements [freshet.Policy].
func (f *Frequency) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	page := &f.pages[slot]
	if o.Result.Seen() {
		began, since := o.Began.UnixNano(), page.last
		if !o.Since.IsZero() { // as it must be when old outcomes are replayed
			since = o.Since.UnixNano()
		}
		span := f.instants(began - since)
		switch {
		case span <= 0: // tells nothing
		case o.Result == freshet.Changed:
			page.forget(f.cfg.Memory)
			page.changes++
			page.changed += float32(span)
		case o.Result == freshet.Unchanged:
			page.forget(f.cfg.Memory)
			page.same += float32(span)
		}
		page.last = max(page.last, began)
		f.queue.Note(slot, f.dueAfter(page))
		f.news++
	}
	if page.weight > 0 {
		f.queue.Set(slot, f.queue.Due(slot))
	}
}

// dueAfter returns when a source is to be polled after it was last seen. Before
// there is a plan the longest unseen goes first.
func (f *Frequency) dueAfter(page *frequencyPage) int64 {
	if f.price == 0 {
		return page.last
	}
	rate := page.looks().Shrunk(f.general, f.cfg.Prior)
	frequency := f.even + f.cfg.Objective.At(rate, float64(page.weight), f.price)
	gap := float64(f.cfg.Instant) / frequency
	if !(gap < math.MaxInt64/4) {
		return ranking.Never
	}
	return page.last + int64(gap)
}

// plan works out the rate of sources in general and the price of a poll, and
// with them when each source is due.
func (f *Frequency) plan(at int64) {
	budget := f.cfg.Rate
	if budget <= 0 {
		budget = float64(f.polls) / max(1, f.instants(at-f.planned))
	}
	f.news, f.polls, f.planned = 0, 0, at
	changes, exposure := 0.0, 0.0
	for i := range f.pages {
		e := f.pages[i].looks()
		changes += e.Changes
		exposure += e.Exposure()
	}
	if changes == 0 || budget <= 0 {
		return // everything is alike so far: the longest unseen goes first
	}
	f.general = changes / exposure
	f.rates = f.rates[:0]
	for i := range f.pages {
		f.rates = append(f.rates, f.pages[i].looks().Shrunk(f.general, f.cfg.Prior))
	}
	f.even = f.cfg.Floor * budget / float64(max(1, f.present))
	const within = 1e-4 // the rates are not known as well as that
	_, f.price = clearing(cmp.Or(f.price, 1), within, (1-f.cfg.Floor)*budget, func(price float64) float64 {
		sum := 0.0
		for i, rate := range f.rates {
			sum += f.cfg.Objective.At(rate, float64(f.pages[i].weight), price)
		}
		return sum
	})
	f.queue.Reset(func(slot freshet.Slot, due int64) int64 {
		if due < 0 { // not visited yet
			return due
		}
		return f.dueAfter(&f.pages[slot])
	})
}

// forget makes what is known count for less, before more is learned.
func (p *frequencyPage) forget(memory float64) {
	if memory > 0 {
		keep := float32(1 - 1/max(memory, 1))
		p.changes *= keep
		p.changed *= keep
		p.same *= keep
	}
}

func (p *frequencyPage) looks() estimate.Looks {
	return estimate.Looks{Changes: float64(p.changes), Changed: float64(p.changed), Same: float64(p.same)}
}

func (f *Frequency) instants(nanoseconds int64) float64 {
	return float64(nanoseconds) / float64(f.cfg.Instant)
}
