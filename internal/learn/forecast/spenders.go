package forecast

import (
	"cmp"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
)

// A Spender is a source with what it takes of the budget and what it brings.
type Spender struct {
	ID       freshet.SourceID
	Gap      time.Duration // between polls
	Spent    float64       // requests a second
	Rate     outlook.Rate  // as in its Outlook
	Changes  float64       // a second, expected
	Captured float64       // of those
	Share    outlook.Range // of the changes that is captured
	Delay    time.Duration // of a captured change, on average
}

// Spenders returns the sources that take the most of the present budget, the
// greatest first, and no more than so many.
func (m *Market) Spenders(most int) []Spender {
	m, st := m.settle(m.terms.Budget, 0)
	price := st.price
	if st.part > 0.5 {
		price = st.lower
	}
	spends := make([]struct{ spent, gap float64 }, len(m.prospects))
	order := make([]int32, len(m.prospects))
	for i := range m.prospects {
		c := m.single(i, m.hosts)
		gap := c.gap(price) * st.stretch
		spends[i].spent, spends[i].gap, order[i] = c.toll/gap, gap, int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(spends[b].spent, spends[a].spent), cmp.Compare(m.prospects[a].ID, m.prospects[b].ID))
	})
	spenders := make([]Spender, min(most, len(order)))
	for i := range spenders {
		at := order[i]
		c := m.single(int(at), m.hosts)
		var own sum
		own.count(&c, spends[at].gap)
		p := own.point()
		spenders[i] = Spender{
			ID: m.prospects[at].ID, Gap: seconds(spends[at].gap), Spent: spends[at].spent,
			Rate:    outlook.Rate{Range: m.prospects[at].Rate, Known: m.prospects[at].Known},
			Changes: p.Changes, Captured: p.Captured, Share: p.Share, Delay: p.Delay,
		}
		if seen := m.prospects[at].Seen; seen.Mean > 0 {
			spenders[i].Share, spenders[i].Captured = seen, seen.Mean*p.Changes
		}
	}
	return spenders
}

// A Drop is what dropping some sources would mean for the others.
type Drop struct {
	Sources int     // dropped
	Freed   float64 // requests a second that they take at present
	Lost    float64 // changes a second that are captured of them at present
	Before  Point   // of the others, as things are
	After   Point   // of the others, with the whole budget
}

// Drop returns what dropping the chosen sources would mean.
func (m *Market) Drop(c Choice) Drop {
	kept := slices.DeleteFunc(slices.Clone(m.prospects), c.Has)
	rest := newMarket(kept, m.terms, m.limit)
	m, st := m.settle(m.terms.Budget, 0)
	as := *rest // the others as they are: their hosts serve the dropped, too
	as.terms = m.terms
	as.classes, _ = as.classed(m.limit, m.hosts)
	all, others := m.at(st), as.at(st)
	d := Drop{
		Sources: len(m.prospects) - len(kept),
		Freed:   max(0, all.requests-others.requests),
		Lost:    max(0, all.captured-others.captured),
		Before:  m.anchor.point(others.point()),
	}
	rest.anchor = m.anchor
	d.After = rest.Now()
	d.Before.Budget, d.Before.Price = d.Before.Spent, st.price
	return d
}
