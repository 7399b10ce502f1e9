package forecast

import (
	"cmp"
	"math"
)

const (
	// far is how many times the present budget is looked at, at most. Beyond
	// that hosts are not asked what they allow.
	far = 256

	// hostClasses is how many classes the sources of one host are lumped into
	// when there are too many sources in all to go one by one.
	hostClasses = 256
)

// rations returns the hosts that, at some budget within reach, cannot be polled
// as often as their sources are worth, with the price at which they can. A host
// at its limit has a price of its own, above the common one.
func (m *Market) rations(of []int32) map[string]ration {
	allowed := 1 / m.terms.HostGap.Seconds()
	st := m.clear(m.terms.Budget*far, 0)
	pace := make([]float64, len(m.classes))
	for i := range m.classes {
		pace[i] = 1 / (m.classes[i].gap(st.lower) * st.stretch)
	}
	wanted := map[string]float64{}
	for i := range m.prospects {
		wanted[m.prospects[i].Host] += pace[of[i]] * m.prospects[i].visits()
	}
	members := map[string][]int{}
	for i := range m.prospects {
		if host := m.prospects[i].Host; host != "" && wanted[host] > allowed {
			members[host] = append(members[host], i)
		}
	}
	limit := m.limit
	if len(m.prospects) > limit {
		limit = hostClasses
	}
	held := map[string]ration{}
	for host, list := range members {
		held[host] = m.ration(list, allowed, limit, true)
	}
	return held
}

// visits returns how many visits of its host a poll of a source is: one, or its part of
// one that it shares with other sources.
func (p *Prospect) visits() float64 { return min(1, cmp.Or(p.Requests, 1)) }

// ration returns how the sources of a host share what it allows a second: polls, or
// the requests that they take.
func (m *Market) ration(list []int, allowed float64, limit int, polls bool) ration {
	sub := &Market{terms: m.terms, prospects: make([]Prospect, len(list)), manners: make([]*manner, len(list))}
	for i, at := range list {
		sub.prospects[i], sub.manners[i] = m.prospects[at], m.manners[at]
		if polls { // what a poll takes is the budget's affair
			sub.prospects[i].Requests = m.prospects[at].visits()
		}
	}
	sub.classes, _ = sub.classed(limit, nil)
	own := sub.clear(allowed, 0)
	if math.IsInf(own.price, 1) {
		own.price = 0 // all its sources are at their longest gaps, stretched
		for i := range sub.classes {
			own.price = max(own.price, sub.classes[i].index(sub.classes[i].most*own.stretch))
		}
	}
	return ration{own.price, own.stretch}
}
