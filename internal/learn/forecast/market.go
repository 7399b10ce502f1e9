package forecast

import (
	"math"
	"time"

	"freshet/internal/freshet/objective"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched/rootfind"
)

// A Market is prospects under terms, ready to be asked. It can be asked from
// several goroutines.
type Market struct {
	terms     Terms
	prospects []Prospect
	manners   []*manner // of each prospect
	limit     int       // of classes
	classes   []class
	of        []int32           // the class of each prospect
	hosts     map[string]ration // of the hosts whose limit may hold sources back
	anchor    anchor
}

// A ration is how a host that cannot be polled as often as its sources are
// worth shares its polls out.
type ration struct {
	price   float64 // that a poll of its sources has to be worth
	stretch float64 // of the longest gaps, where even those are too much
}

// New returns a Market. It keeps the slice, which must not be changed.
func New(prospects []Prospect, t Terms) *Market {
	m := newMarket(prospects, t, manyClasses)
	m.anchor = m.anchored()
	return m
}

// Under returns a Market of the same sources under other terms. It is tied to what polls
// have seen under the terms of m, because none were made under those yet.
func (m *Market) Under(prospects []Prospect, t Terms) *Market {
	other := newMarket(prospects, t, m.limit)
	other.anchor = m.anchor
	return other
}

func newMarket(prospects []Prospect, t Terms, limit int) *Market {
	m := &Market{terms: t.withDefaults(prospects), prospects: prospects, limit: limit}
	m.manners = m.mannersOf()
	var of []int32
	m.classes, of = m.classed(m.limit, nil)
	m.of = of
	if m.terms.HostGap > 0 {
		if m.hosts = m.rations(of); len(m.hosts) > 0 {
			m.classes, m.of = m.classed(m.limit, m.hosts)
		}
	}
	return m
}

// mannersOf returns the manner of each prospect, each manner once.
func (m *Market) mannersOf() []*manner {
	type key struct {
		life       objective.Visibility
		kind       objective.UrgencyKind
		a          float64
		k          int
		per, width time.Duration
		table      string
	}
	known := map[key]*manner{}
	all := make([]*manner, len(m.prospects))
	for i := range m.prospects {
		p := &m.prospects[i]
		u := p.Urgency
		k := key{life: p.Life, kind: u.Kind, a: u.A, k: u.K, per: u.Per, width: u.Width}
		if len(u.Table) > 0 {
			k.table = u.String()
		}
		if known[k] == nil {
			made := mannerOf(p.Life, u, m.terms)
			known[k] = &made
		}
		all[i] = known[k]
	}
	return all
}

// A Point is what is expected of a budget.
type Point struct {
	Budget float64 // requests a second
	Spent  float64 // of those; less than the budget if there is no use for more
	Price  float64 // what a poll has to be worth; +Inf if only the longest gaps are kept, 0 if there is no use for more

	Changes  float64 // a second, seen or not
	Captured float64 // of those

	Share     outlook.Range          // of the changes that is captured
	Delay     time.Duration          // of a captured change, on average
	Within    [len(Horizons)]float64 // the share of all changes that is captured within each of Horizons
	Freshness float64                // the share of time in which a copy is up to date, over the sources
	Age       time.Duration          // for which a copy has been out of date, over time and sources
}

// point says what a sum comes to.
func (s *sum) point() Point {
	p := Point{Spent: s.requests, Changes: s.changes, Captured: s.captured, Share: s.share(), Freshness: 1}
	if s.captured > 0 {
		p.Delay = seconds(s.delay / s.captured)
	}
	for i := range p.Within {
		p.Within[i] = 1
		if s.changes > 0 {
			p.Within[i] = min(1, s.within[i]/s.changes)
		}
	}
	if s.sources > 0 {
		p.Freshness, p.Age = s.fresh/s.sources, seconds(s.stale/s.sources)
	}
	return p
}

// seconds returns a duration, at most the longest.
func seconds(s float64) time.Duration {
	if s >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}

// A stance is how sources are polled at a budget: at a price, or, where the
// budget does not even reach for the longest gaps, at those made longer. Where
// demand jumps at a price, a part goes by the lower side of the jump.
type stance struct {
	price, lower float64
	part         float64 // that goes by lower
	stretch      float64
	enough       bool // there is no use for more
}

// wants returns how many requests a second are wanted at a price.
func (m *Market) wants(price float64) float64 {
	total := 0.0
	for i := range m.classes {
		c := &m.classes[i]
		total += c.n * c.toll / c.gap(price)
	}
	return total
}

// reach bounds how far below the highest price one is looked for: what is worth
// less is worth nothing.
const reach = 1e-11

// edges returns how many requests a second the longest gaps take, and a price
// at which there are no others.
func (m *Market) edges() (idle, top float64) {
	for i := range m.classes {
		c := &m.classes[i]
		idle += c.n * c.toll / c.most
		top = max(top, c.atMost, c.floor)
	}
	return idle, 2 * top // however one rounds
}

// atLongest is the stance in which all sources are at their longest gaps, or
// at those made longer.
func atLongest(stretch float64) stance {
	return stance{price: math.Inf(1), lower: math.Inf(1), stretch: stretch}
}

// clear returns the stance at which a budget is spent. The price is looked for
// around a guess, if there is one.
func (m *Market) clear(budget, guess float64) stance {
	idle, top := m.edges()
	switch {
	case budget <= idle:
		return atLongest(idle / max(budget, 0))
	case top == 0:
		st := atLongest(1)
		st.enough = true
		return st
	}
	hi, below := top, idle
	step := 32.0
	if guess > 0 && guess < top {
		if w := m.wants(guess); w < budget {
			hi, below, step = guess, w, 2
		} else {
			for hi, below = guess, w; below >= budget && hi < top; hi = min(top, 2*hi) {
				below = m.wants(min(top, 2*hi))
			}
			step = 4
		}
	}
	lo, above := hi, below
	for ; above < budget; step = min(32, 2*step) {
		if lo < top*reach {
			return stance{price: lo, lower: lo, stretch: 1, enough: true}
		}
		hi, below = lo, above
		lo /= step
		above = m.wants(lo)
	}
	excess := func(x float64) float64 { return math.Log(m.wants(math.Exp(x)) / budget) }
	from, to := rootfind.Falling(excess, math.Log(lo), math.Log(hi), math.Log(above/budget), math.Log(below/budget), 1e-6)
	s := stance{price: math.Exp(to), lower: math.Exp(from), stretch: 1}
	if from != to {
		more, less := m.wants(s.lower), m.wants(s.price)
		if more > less {
			s.part = max(0, min(1, (budget-less)/(more-less)))
		}
	}
	return s
}

// at returns what becomes of all changes in a stance.
func (m *Market) at(st stance) (total sum) {
	if math.IsInf(st.stretch, 1) {
		for i := range m.classes {
			total.sources += m.classes[i].n
			total.changes += m.classes[i].n * m.classes[i].rate
		}
		return total
	}
	for i := range m.classes {
		c := &m.classes[i]
		if st.part == 0 || st.price == st.lower {
			total.count(c, c.gap(st.price)*st.stretch)
			continue
		}
		var low, high sum
		low.count(c, c.gap(st.lower))
		high.count(c, c.gap(st.price))
		total.add(&low, st.part)
		total.add(&high, 1-st.part)
	}
	return total
}

// pointAt returns what is expected in a stance.
func (m *Market) pointAt(budget float64, st stance) Point {
	total := m.at(st)
	p := m.anchor.point(total.point())
	p.Budget, p.Price = budget, st.price
	if st.enough {
		p.Price = 0
	}
	return p
}

// At returns what is expected of a budget in requests a second.
func (m *Market) At(budget float64) Point {
	held, st := m.settle(budget, 0)
	return held.pointAt(budget, st)
}

// Now returns what is expected of the present budget.
func (m *Market) Now() Point { return m.At(m.terms.Budget) }

// Curve returns what is expected of budgets from a part of the present one to a
// multiple of it, equal factors apart. The present one is in the middle if there
// is an odd number of points.
func (m *Market) Curve(span float64, points int) []Point {
	curve, guess := make([]Point, points), 0.0
	for i := range curve {
		x := 0.0
		if points > 1 {
			x = 2*float64(i)/float64(points-1) - 1
		}
		budget := m.terms.Budget * math.Pow(span, x)
		held, st := m.settle(budget, guess)
		curve[i], guess = held.pointAt(budget, st), st.price
	}
	return curve
}

// Marginal returns by how much the share of changes captured would rise with
// so many requests a second more.
func (m *Market) Marginal(more float64) float64 {
	return max(0, m.At(m.terms.Budget+more).Share.Mean-m.Now().Share.Mean)
}
