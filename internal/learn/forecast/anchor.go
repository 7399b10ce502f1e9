package forecast

import (
	"cmp"
	"math"

	"freshet/internal/learn/outlook"
)

// An anchor ties what is expected of budgets to what polls have seen of late, so
// that both are one answer. The odds of being captured are as much better or worse
// at every budget as they were at the one of late. The zero anchor changes nothing.
type anchor struct {
	mean, low, high float64 // added to the logarithm of the odds
	spent           float64 // requests a second, of late
	set             bool
}

// anchored returns the anchor of a market.
func (m *Market) anchored() (a anchor) {
	if !(m.terms.Seen.Mean > 0) {
		return a
	}
	spent := 0.0
	for i := range m.prospects {
		p := &m.prospects[i]
		spent += p.Pace * cmp.Or(p.Requests, 1)
	}
	if spent == 0 {
		spent = m.terms.Budget
	}
	said := logOdds(m.At(min(spent, m.terms.Budget*far)).Share.Mean)
	seen := m.terms.Seen
	return anchor{logOdds(seen.Mean) - said, logOdds(seen.Low) - said, logOdds(seen.High) - said, spent, true}
}

// logOdds returns the logarithm of the odds of a share, which is kept off 0 and 1.
func logOdds(share float64) float64 {
	share = min(1-1e-4, max(1e-4, share))
	return math.Log(share / (1 - share))
}

// share returns what becomes of a share.
func (a anchor) share(s, by float64) float64 {
	if !a.set || s <= 0 || s >= 1 {
		return s
	}
	return 1 / (1 + math.Exp(-logOdds(s)-by))
}

// point returns what becomes of a point.
func (a anchor) point(p Point) Point {
	if !a.set {
		return p
	}
	was := p.Share.Mean
	// The further from what was spent of late, the more it counts how well the
	// rates of the sources are known.
	far := 0.0
	if p.Spent > 0 {
		far = min(1, math.Abs(math.Log(p.Spent/a.spent)))
	}
	low := a.mean - math.Hypot(a.mean-a.low, far*(logOdds(was)-logOdds(p.Share.Low)))
	high := a.mean + math.Hypot(a.high-a.mean, far*(logOdds(p.Share.High)-logOdds(was)))
	p.Share = outlook.Range{Mean: a.share(was, a.mean), Low: a.share(was, low), High: a.share(was, high)}
	p.Captured = p.Share.Mean * p.Changes
	if was > 0 {
		for i := range p.Within {
			p.Within[i] = min(p.Share.Mean, p.Within[i]*p.Share.Mean/was)
		}
	}
	return p
}
