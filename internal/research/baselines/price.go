package baselines

import (
	"cmp"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/sched/policy"
	"freshet/internal/sched/ranking"
)

// Priced polls the sources for which a poll now beats the best later one by
// most, where every poll has the same price. WIC asks what has accrued; Priced
// asks what is lost by waiting. It so waits for a peak that is to come, leaves
// alone what will not be worth its price, and hurries where worth runs out.
//
// At a price each source is a problem of its own: when to poll it, so that what
// its polls capture less what they cost is the most. Where it changes at a
// steady rate the answer is a closed form (Olston and Pandey; Whittle).
// Otherwise it is found by dynamic programming over what the estimator expects
// in a time ahead, and what comes after that time is taken to be steady. The
// price is the one at which all sources together want the polls that there are;
// what is left of an instant goes to those that are nearest to being due.
//
// It is driven by events: a source is looked at when it is polled, when it comes
// to be due or nearly so, and no oftener. Make one with NewPriced.
type Priced struct {
	conf    PricedConfig
	grid    ranking.Instants
	reached int64 // the present instant

	pages  []pricedPage  // by slot
	queue  ranking.Queue // of those neither held nor in flight, by the instant of their next look
	spare  ranking.Queue // of the same, by what the last look showed, the best first
	held   []freshet.Slot
	line   []candidate // of the present instant, the most worth first
	looked int         // how many have been looked at in the present instant

	values []policy.Value // of the pairs of life and urgency that there are
	pairs  map[policy.Pair]int32
	ahead  foresight

	market priceMarket
}

// A candidate is a source that may be worth polling.
type candidate struct {
	worth float64
	slot  freshet.Slot
}

// A pricedPage is what Priced keeps of a source.
type pricedPage struct {
	there, flying, paused bool
	value                 int32   // which of the values
	factor                float64 // weight over cost
	since                 int64   // the instant at which it was last seen
	turn                  int64   // the instant of its latest outcome: it is not polled twice in one
	met                   int64   // the instant at which it was last put into line
	wake                  int64   // the instant of its next look
	rank                  int64   // of what the last look showed
}

// A PricedConfig says how Priced sees time and where its chances come from. The
// zero PricedConfig works.
type PricedConfig struct {
	Start     time.Time         // of the first instant; zero means when the first source is put
	Instant   time.Duration     // how long an instant is; zero means a minute
	Polls     float64           // budget an instant; zero means to be found out
	Estimator freshet.Estimator // nil means that all sources are equally likely to change, always

	// Horizon is how many instants ahead are looked at one by one; what is
	// further away is looked at in steps that grow with the distance. It should
	// be two periods of whatever is periodic. Zero means 128.
	Horizon int

	// Patience is that of ValueConfig.
	Patience float64
}

// NewPriced returns a Priced.
func NewPriced(c PricedConfig) *Priced {
	c.Horizon = cmp.Or(c.Horizon, 128)
	p := &Priced{conf: c, grid: ranking.NewInstants(c.Start, c.Instant), pairs: map[policy.Pair]int32{}}
	p.market.polls = c.Polls
	return p
}

// Price returns what a poll has to capture, times weight and for its cost, to be
// worth making. It is zero before the first choice.
func (p *Priced) Price() float64 { return p.market.price }

// OverrideForecast sets how likely a source is to change at coming times, by an imported forecast;
// nil takes that back. It counts where the chances come from a learner.
func (p *Priced) OverrideForecast(slot freshet.Slot, given *imported.Forecast) {
	if l, ok := p.conf.Estimator.(*learn.Learner); ok {
		l.OverrideForecast(slot, given)
		p.reconsider(slot)
	}
}

// Put implements [freshet.Policy]. A source that was never seen counts as seen
// now.
func (p *Priced) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	p.grid.Begin(now)
	if p.conf.Estimator != nil {
		p.conf.Estimator.Put(now, slot, s, since)
	}
	p.pages = ranking.Grown(p.pages, slot)
	page := &p.pages[slot]
	if isNew := !page.there || !p.queue.Is(slot, s.ID); isNew {
		*page = pricedPage{there: true, since: p.grid.At(now), turn: -1, met: -1}
		if !since.IsZero() {
			page.since = p.instant(since)
		}
	}
	p.queue.Name(slot, s.ID)
	p.spare.Name(slot, s.ID)
	page.value = p.valueOf(s.Life.In(p.grid.Length), s.Urgency.In(p.grid.Length))
	page.factor, page.paused = s.Importance()/s.Price(), s.Apart()
	p.reconsider(slot)
}

// reconsider has a source looked at again.
func (p *Priced) reconsider(slot freshet.Slot) {
	page := &p.pages[slot]
	page.wake, page.rank = 0, 0
	p.withdraw(slot)
	if page.wanted() {
		p.wait(slot)
	}
}

// wait puts a source into the queues.
func (p *Priced) wait(slot freshet.Slot) {
	p.queue.Set(slot, p.pages[slot].wake)
	p.spare.Set(slot, p.pages[slot].rank)
}

// withdraw takes a source out of the queues.
func (p *Priced) withdraw(slot freshet.Slot) {
	p.queue.Drop(slot)
	p.spare.Drop(slot)
}

// instant is that of a time, which may lie before the start.
func (p *Priced) instant(t time.Time) int64 {
	if t.Before(p.grid.Start) {
		return -int64(p.grid.Start.Sub(t) / p.grid.Length)
	}
	return p.grid.At(t)
}

// valueOf returns which of the values is that of a life and an urgency.
func (p *Priced) valueOf(life objective.Span, u objective.Decay) int32 {
	key := policy.PairOf(life, u)
	at, ok := p.pairs[key]
	if !ok {
		at = int32(len(p.values))
		p.pairs[key] = at
		p.values = append(p.values, policy.NewValue(policy.ValueConfig{Life: life, Urgency: u, Patience: p.conf.Patience}))
	}
	return at
}

// Remove implements [freshet.Policy].
func (p *Priced) Remove(slot freshet.Slot) {
	if int(slot) >= len(p.pages) || !p.pages[slot].there {
		return
	}
	if p.conf.Estimator != nil {
		p.conf.Estimator.Remove(slot)
	}
	p.pages[slot] = pricedPage{}
	p.withdraw(slot)
	p.line = slices.DeleteFunc(p.line, func(c candidate) bool { return c.slot == slot })
}

// Observe implements [freshet.Policy]. A failed poll leaves all that there was
// to be had; whatever its result, the source has had its turn at this instant.
func (p *Priced) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	if p.conf.Estimator != nil {
		p.conf.Estimator.Observe(now, slot, o)
	}
	page := &p.pages[slot]
	page.flying = false
	page.turn = p.grid.At(now)
	if o.Result.Seen() {
		began := o.Began
		if began.IsZero() {
			began = now
		}
		page.since = max(page.since, min(p.instant(began), page.turn))
	}
	if page.paused {
		return
	}
	page.wake = page.turn + 1
	if p.market.open && o.Result.Seen() {
		p.note(slot, p.look(slot, page.turn))
	}
	p.wait(slot)
}

// note keeps what a look has shown.
func (p *Priced) note(slot freshet.Slot, v view) {
	p.pages[slot].wake, p.pages[slot].rank = v.wake, descending(v.advantage)
}

// descending returns a number that is the smaller, the greater x is.
func descending(x float64) int64 {
	bits := int64(math.Float64bits(-x))
	if bits < 0 {
		bits ^= math.MaxInt64
	}
	return bits
}

// Choose implements [freshet.Policy].
func (p *Priced) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	p.grid.Begin(now)
	if at := p.grid.At(now); at > p.reached || !p.market.open {
		p.begin(at, n)
	}
	taken, kept, i := 0, 0, 0
	for ; taken < n; i++ {
		if i == len(p.line) && !p.gather(n) {
			break
		}
		c := p.line[i]
		page := &p.pages[c.slot]
		switch {
		case !page.wanted() || page.turn == p.reached: // polled, edited or removed since
		case take(c.slot, c.worth):
			taken++
			page.flying = true
			p.withdraw(c.slot)
		default:
			p.line[kept] = c
			kept++
		}
	}
	p.line = p.line[:kept+copy(p.line[kept:], p.line[i:])]
	p.market.taken += float64(taken)
	return p.grid.Time(p.reached + 1)
}

// wanted reports whether a poll of the page could be begun.
func (p *pricedPage) wanted() bool { return p.there && !p.flying && !p.paused }

// begin comes to an instant.
func (p *Priced) begin(at int64, n int) {
	for _, slot := range p.held {
		if page := &p.pages[slot]; page.wanted() {
			p.wait(slot)
		}
	}
	p.held, p.line, p.looked = p.held[:0], p.line[:0], 0
	p.market.pass(at-p.reached, n)
	p.reached = at
	if p.market.due(at, int64(p.conf.Horizon)/8) {
		p.clear()
	}
}

// At an instant so many sources are looked at for each poll, at the least and at
// the most. Any more are offered as they come, by when they were to be looked
// at: then most of those that are worth something have been refused.
const (
	looksEach = 4
	looksMin  = 16
	looksMost = 64
	looksCap  = 256
)

// gather puts into line the sources whose time for a look has come, and those
// that the last look showed to be the best of all others, and reports whether
// there were any. A source is looked at again before its worth has risen by
// much, so those that were worth little then are worth little now.
func (p *Priced) gather(n int) bool {
	from := len(p.line)
	for {
		slot, wake, ok := p.queue.First()
		if !ok || wake > p.reached || len(p.line)-from >= max(looksCap, looksMost*n) {
			break
		}
		p.admit(slot, n)
	}
	for more := max(looksMin, looksEach*n); more > 0 || len(p.line) == from; more-- {
		slot, _, ok := p.spare.First()
		if !ok {
			break
		}
		p.admit(slot, n)
	}
	found := p.line[from:]
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(p.queue.ID(a.slot), p.queue.ID(b.slot)))
	})
	for i := range found {
		found[i].worth += p.market.price
	}
	return len(found) > 0
}

// admit takes a source out of the queues and puts it into line, if there is
// anything to gain.
func (p *Priced) admit(slot freshet.Slot, n int) {
	p.withdraw(slot)
	p.held = append(p.held, slot)
	page := &p.pages[slot]
	if page.met == p.reached {
		return
	}
	page.met = p.reached
	if p.looked >= max(looksCap, looksMost*n) {
		page.wake = max(page.wake, p.reached+1)
		p.line = append(p.line, candidate{-p.market.price, slot})
		return
	}
	p.looked++
	v := p.look(slot, p.reached)
	p.note(slot, v)
	if v.gain > 0 {
		p.line = append(p.line, candidate{v.advantage, slot})
	}
}
