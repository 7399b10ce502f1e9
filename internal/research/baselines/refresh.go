package baselines

import (
	"math"
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/sched/ranking"
)

// A Refresher polls each source at a frequency of its own, which it works out from the
// rates that it has estimated. What the papers differ in is a scheme: how rates are
// estimated, which frequencies are best, and how polls of one source are spaced.
//
// In the first pass, in which each source is polled once, all frequencies are equal;
// then they are worked out again once a pass. If the budget allows more polls than are due,
// those that are due next come early.
type Refresher struct {
	scheme   scheme
	instant  time.Duration
	budget   float64 // polls an instant
	captures bool    // are what it aims at
	floor    float64

	queue   ranking.Queue
	pages   []refreshPage // by slot
	present int           // sources that are polled
	news    int           // outcomes since the last plan
	passes  int
	random  *rand.Rand
	aside   []freshet.Slot
}

// A scheme is what a paper says.
type scheme struct {
	// estimate returns the rate of a source, in changes an instant. Usual is the gap
	// between polls of a source if all are polled equally often.
	estimate func(p *refreshPage, usual float64) float64

	// frequencies returns the best frequencies for sources with these rates and weights.
	frequencies func(rates, weights []float64, budget float64) []float64

	explores func(pass int) bool // in which all sources are polled equally often; nil means none but the first
	poisson  bool                // gaps between polls of one source are drawn from an exponential distribution
	floor    float64             // share of the budget that is spread over all sources
}

// A refreshPage is what a Refresher knows of one source.
type refreshPage struct {
	last      int64 // when it was last seen, in nanoseconds since 1970
	weight    float64
	frequency float64 // polls an instant; 0 until there is a plan
	looks     []look
	online    float64 // estimate that is revised at every poll
	steps     float64 // polls that revised it
}

// A look is an interval between two polls of a source, and whether it changed in it.
type look struct {
	gap     float32 // instants
	changed bool
}

// mostLooks is how many intervals of a source are kept: with more the estimates hardly
// become better, and the rates of real sources drift.
const mostLooks = 400

// newRefresher returns a Refresher that follows a scheme.
func newRefresher(s scheme, at policy.Setting, o *policy.Options) *Refresher {
	instant, budget := at.Instant, at.Polls
	if instant <= 0 {
		instant = time.Second
	}
	if budget <= 0 {
		budget = 1
	}
	return &Refresher{
		scheme: s, instant: instant, budget: budget, floor: o.Share("floor", s.floor), captures: aimsAtCaptures(o),
		random: rand.New(rand.NewPCG(at.Seed, 0x7ef7e5)), // any stream will do
	}
}

// aimsAtCaptures reads what the polls are for: freshness, as in the papers, or captures, for
// which each source has its rate as weight.
func aimsAtCaptures(o *policy.Options) bool {
	return o.Choice("aim", "freshness", "captures") == "captures"
}

// Put implements [freshet.Policy].
func (r *Refresher) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	r.pages = ranking.Grown(r.pages, slot)
	p := &r.pages[slot]
	if !r.queue.Is(slot, s.ID) {
		if p.weight > 0 {
			r.present--
		}
		*p = refreshPage{last: now.UnixNano()}
		r.queue.Name(slot, s.ID)
		r.queue.Note(slot, math.MinInt64)
		if !since.IsZero() {
			p.last = since.UnixNano()
			r.queue.Note(slot, p.last)
		}
	}
	was := p.weight > 0
	p.weight = s.Importance() / s.Price()
	if s.Apart() {
		p.weight = 0
	}
	switch is := p.weight > 0; {
	case is && !was:
		r.present++
		r.queue.Set(slot, r.queue.Due(slot))
	case was && !is:
		r.present--
		r.queue.Drop(slot)
	}
}

// Remove implements [freshet.Policy].
func (r *Refresher) Remove(slot freshet.Slot) {
	if r.pages[slot].weight > 0 {
		r.present--
	}
	r.queue.Forget(slot)
	r.pages[slot] = refreshPage{}
}

// Choose implements [freshet.Policy].
func (r *Refresher) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	at := now.UnixNano()
	if r.news >= max(1, r.present) {
		r.plan()
	}
	r.aside = r.aside[:0]
	for taken := 0; taken < n; {
		slot, due, ok := r.queue.First()
		if !ok || due == ranking.Never {
			break
		}
		r.queue.Drop(slot)
		if p := &r.pages[slot]; due != math.MinInt64 && p.last >= at || !take(slot, p.weight) {
			r.aside = append(r.aside, slot)
		} else {
			taken++
		}
	}
	for _, slot := range r.aside {
		r.queue.Set(slot, r.queue.Due(slot))
	}
	return now.Add(r.instant)
}

// Observe implements [freshet.Policy].
func (r *Refresher) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	p := &r.pages[slot]
	if o.Result.Seen() {
		began, since := o.Began.UnixNano(), p.last
		if !o.Since.IsZero() {
			since = o.Since.UnixNano()
		}
		if gap := float64(began-since) / float64(r.instant); gap > 0 && (o.Result == freshet.Changed || o.Result == freshet.Unchanged) {
			p.see(gap, o.Result == freshet.Changed, r.usual())
		}
		p.last = max(p.last, began)
		r.queue.Note(slot, r.dueAfter(p))
		r.news++
	}
	if p.weight > 0 {
		r.queue.Set(slot, r.queue.Due(slot))
	}
}

// see takes in an interval.
func (p *refreshPage) see(gap float64, changed bool, usual float64) {
	if len(p.looks) == mostLooks {
		p.looks = append(p.looks[:0], p.looks[1:]...)
	}
	p.looks = append(p.looks, look{float32(gap), changed})
	if p.steps == 0 {
		p.online = 1 / usual
	}
	frequency := p.frequency
	if frequency == 0 {
		frequency = 1 / usual
	}
	p.steps++
	p.online = approximated(p.online, frequency, p.steps, changed)
}

// usual returns the gap between polls of a source if all are polled equally often.
func (r *Refresher) usual() float64 { return float64(max(1, r.present)) / r.budget }

// dueAfter returns when a source is to be polled after it was last seen. Before there is a
// plan the longest unseen goes first.
func (r *Refresher) dueAfter(p *refreshPage) int64 {
	if r.passes == 0 {
		return p.last
	}
	gap := float64(r.instant) / p.frequency
	if r.scheme.poisson {
		gap *= r.random.ExpFloat64()
	}
	if !(gap < math.MaxInt64/4) {
		return ranking.Never
	}
	return p.last + int64(gap)
}

// plan works out the frequencies of the next pass.
func (r *Refresher) plan() {
	r.news = 0
	r.passes++
	even := r.budget / float64(max(1, r.present))
	explores := r.scheme.explores != nil && r.scheme.explores(r.passes)
	rates, weights := make([]float64, len(r.pages)), make([]float64, len(r.pages))
	for i := range r.pages {
		p := &r.pages[i]
		if p.frequency = 0; p.weight == 0 || explores {
			continue
		}
		rates[i], weights[i] = r.scheme.estimate(p, 1/even), p.weight
		if r.captures {
			weights[i] *= rates[i] // a change is worth as much as a change, wherever it is
		}
	}
	floor := r.floor * even
	if explores {
		floor = even
	} else {
		for i, f := range r.scheme.frequencies(rates, weights, (1-r.floor)*r.budget) {
			r.pages[i].frequency = f
		}
	}
	for i := range r.pages {
		if r.pages[i].weight > 0 {
			r.pages[i].frequency += floor
		}
	}
	r.queue.Reset(func(slot freshet.Slot, due int64) int64 {
		if due == math.MinInt64 { // never polled
			return due
		}
		return r.dueAfter(&r.pages[slot])
	})
}
