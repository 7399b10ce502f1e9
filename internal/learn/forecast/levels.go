package forecast

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
)

// An Obstacle is what keeps a service level from being kept.
type Obstacle string

// What keeps levels from being kept.
const (
	NoObstacle  Obstacle = ""           // nothing: it is kept
	ByBudget    Obstacle = "budget"     // all levels together need more than they may claim
	ByHost      Obstacle = "host"       // the levels at its host together need more than the host allows
	ByMinGap    Obstacle = "min_gap"    // the source may not be polled so often
	BySourceGap Obstacle = "source_gap" // no source may be polled so often
	ByRate      Obstacle = "rate"       // it changes too often for any poller
	ByDoubt     Obstacle = "unknown"    // for all that is known it may change too often
	ByWorth     Obstacle = "worth"      // it could be kept, but polls of other sources are worth more
)

// Impossible reports whether no budget keeps a level that this is in the way of.
func (o Obstacle) Impossible() bool { return o == ByMinGap || o == BySourceGap || o == ByRate }

// A LevelCost is a service level of a source and what it takes to keep it.
type LevelCost struct {
	ID    freshet.SourceID
	Level objective.ServiceLevel

	Gap      time.Duration // between polls, that would keep it; 0 if none does
	Need     float64       // requests a second that this takes
	Now      time.Duration // the gap at present
	Share    float64       // of the changes that is expected to be seen in time at present
	Obstacle Obstacle      // what keeps it from being kept
}

// Kept reports whether the level is expected to be kept.
func (p LevelCost) Kept() bool { return p.Obstacle == NoObstacle }

// LevelCosts are the service levels of all sources, and whether they are kept.
type LevelCosts struct {
	All        []LevelCost
	Unmet      int     // how many are not expected to be kept
	Impossible int     // of those, that no budget keeps
	Unknown    int     // of those, of which too little is known to say
	Need       float64 // requests a second that keeping all others takes
	Claim      float64 // requests a second that levels may claim
	Budget     float64 // that there are
}

// Short reports whether the levels that can be kept need more than they may claim.
func (p LevelCosts) Short() bool { return p.Need > p.Claim }

// A level counts as kept if it is missed by less than this: what is expected is
// not known any better.
const leeway = 0.005

// Levels returns what the service levels take and whether they are kept. The
// gap at present is that of late, where it is known, and otherwise the one that
// is expected of the present budget.
func (m *Market) Levels() LevelCosts {
	all := LevelCosts{Budget: m.terms.Budget, Claim: m.terms.Budget}
	if m.terms.LevelShare > 0 {
		all.Claim *= m.terms.LevelShare
	}
	var held *Market
	var st stance
	hosts := map[string]float64{} // polls a second that its levels need
	var at []int
	for i := range m.prospects {
		p := &m.prospects[i]
		if p.Level == (objective.ServiceLevel{}) {
			continue
		}
		if len(at) == 0 {
			held, st = m.settle(m.terms.Budget, 0)
		}
		at = append(at, i)
		cost := held.cost(i, st)
		all.All = append(all.All, cost)
		all.Need += cost.Need
		if cost.Gap > 0 {
			hosts[p.Host] += 1 / cost.Gap.Seconds()
		}
	}
	for i := range all.All {
		p := &all.All[i]
		if p.Kept() {
			continue
		}
		host := m.prospects[at[i]].Host
		switch {
		case p.Gap == 0:
			if p.Obstacle = m.impossible(at[i]); p.Obstacle.Impossible() {
				all.Impossible++
			} else {
				all.Unknown++
			}
		case host != "" && hosts[host]*m.terms.HostGap.Seconds() > 1:
			p.Obstacle = ByHost
		case all.Short():
			p.Obstacle = ByBudget
		}
		all.Unmet++
	}
	return all
}

// impossible says why no polling keeps the level of a prospect.
func (m *Market) impossible(i int) Obstacle {
	p := &m.prospects[i]
	c := m.single(i, nil)
	within, fastest := p.Level.Within.Seconds(), shortest.Seconds()
	known := c
	known.doubt = doubtOf(p.Rate.Mean, 0)
	switch {
	case c.within(fastest, within) >= p.Level.Share && p.SharedGap:
		return BySourceGap
	case c.within(fastest, within) >= p.Level.Share:
		return ByMinGap
	case known.within(max(p.MinGap.Seconds(), fastest), within) >= p.Level.Share:
		return ByDoubt
	}
	return ByRate
}

// cost returns what the level of a prospect takes.
func (m *Market) cost(i int, st stance) LevelCost {
	p := &m.prospects[i]
	c := m.single(i, m.hosts)
	now := p.Gap.Seconds()
	if now == 0 {
		now = c.gap(st.price) * st.stretch
	}
	within := p.Level.Within.Seconds()
	cost := LevelCost{ID: p.ID, Level: p.Level, Now: seconds(now)}
	if !math.IsInf(now, 1) {
		cost.Share = min(1, c.within(now, within))
	}
	c.least = max(p.MinGap, shortest).Seconds() // a level comes before what a poll is worth
	if need := c.needed(p.Level.Share, within, m.terms.Longest.Seconds()); need > 0 {
		cost.Gap, cost.Need = seconds(need), c.toll/need
	}
	if cost.Share < p.Level.Share-leeway {
		cost.Obstacle = ByWorth
	}
	return cost
}

// needed returns the greatest gap, up to the longest, at which a share of the
// changes is seen within a time; 0 if there is none.
func (c *class) needed(share, within, longest float64) float64 {
	switch {
	case c.within(longest, within) >= share:
		return longest
	case c.within(c.least, within) < share:
		return 0
	}
	missed := func(x float64) bool { return c.within(math.Exp(-x), within) < share }
	_, x := bisect(-math.Log(longest), -math.Log(c.least), 1e-9, missed)
	return math.Exp(-x)
}
