package forecast

import (
	"maps"
	"math"
	"slices"

	"freshet/internal/sched"
)

// shared reports whether what sources may take depends on the budget itself: by
// their shares of it, or by what service levels may claim.
func (m *Market) shared() bool {
	part := func(share float64) bool { return share > 0 && share < 1 }
	return part(m.terms.SourceShare) || part(m.terms.HostShare) || m.pledged()
}

// pledged reports whether service levels influence what is polled.
func (m *Market) pledged() bool {
	return m.terms.LevelShare > 0 && slices.ContainsFunc(m.prospects, func(p Prospect) bool { return m.terms.held(&p) > 0 })
}

// settle returns the market as it is at a budget, with its shares in force, and the
// stance at which the budget is spent. The price is looked for around a guess, if
// there is one.
func (m *Market) settle(budget, guess float64) (*Market, stance) {
	st := m.clear(budget, guess)
	if !m.shared() || !(budget > 0) {
		return m, st
	}
	held := *m
	held.terms.stretch = m.terms.stretchAt(m.prospects, budget)
	most := sched.Portion(m.terms.SourceShare, 1, len(m.prospects)) * budget
	if held.terms.stretch == m.terms.stretch && !m.takesMore(st, most) && len(m.greedyHosts(st, budget)) == 0 {
		return m, st // no share is reached
	}
	if most < budget {
		held.terms.most = most
	}
	held.classes, held.of = held.classed(m.limit, held.hosts)
	const rounds = 8 // what one host may not have goes to others, which may then be greedy
	for range rounds {
		st = held.clear(budget, 0)
		greedy := held.greedyHosts(st, budget)
		if len(greedy) == 0 {
			break
		}
		held.rationHosts(greedy)
	}
	return &held, st
}

// takesMore reports whether a source takes more than so many requests a second.
func (m *Market) takesMore(st stance, most float64) bool {
	return slices.ContainsFunc(m.classes, func(c class) bool { return c.toll/(c.gap(st.lower)*st.stretch) > most*(1+1e-6) })
}

// greedyHosts returns the hosts whose sources take more than their share of a
// budget, with what they may take a second.
func (m *Market) greedyHosts(st stance, budget float64) map[string]float64 {
	if share := m.terms.HostShare; share <= 0 || share >= 1 || math.IsInf(st.stretch, 1) {
		return nil
	}
	pace := make([]float64, len(m.classes))
	for i := range m.classes {
		c := &m.classes[i]
		pace[i] = c.toll / (c.gap(st.price) * st.stretch)
		if st.part > 0 {
			pace[i] += st.part * (c.toll/(c.gap(st.lower)*st.stretch) - pace[i])
		}
	}
	taken, sources := map[string]float64{}, map[string]int{}
	for i := range m.prospects {
		taken[m.prospects[i].Host] += pace[m.of[i]]
		sources[m.prospects[i].Host]++
	}
	greedy := map[string]float64{}
	for host, n := range sources {
		portion := sched.Portion(m.terms.HostShare, n, len(m.prospects))
		if allowed := portion * budget; portion < 1 && host != "" && taken[host] > allowed*(1+1e-3) {
			greedy[host] = allowed
		}
	}
	return greedy
}

// rationHosts gives hosts prices of their own at which they take what they may.
func (m *Market) rationHosts(allowed map[string]float64) {
	members := map[string][]int{}
	for i := range m.prospects {
		if host := m.prospects[i].Host; allowed[host] > 0 {
			members[host] = append(members[host], i)
		}
	}
	limit := m.limit
	if len(m.prospects) > limit {
		limit = hostClasses
	}
	hosts := map[string]ration{}
	maps.Copy(hosts, m.hosts)
	for host, list := range members {
		r := m.ration(list, allowed[host], limit, false)
		if before, ok := hosts[host]; ok {
			r = ration{max(r.price, before.price), max(r.stretch, before.stretch)}
		}
		hosts[host] = r
	}
	m.hosts = hosts
	m.classes, m.of = m.classed(m.limit, hosts)
}
