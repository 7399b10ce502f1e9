package baselines

import (
	"math"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
)

// A priceMarket finds the price of a poll.
type priceMarket struct {
	open    bool
	price   float64
	polls   float64 // budget an instant; zero means to be found out
	usual   float64 // polls an instant of late, if the budget is not known
	taken   float64 // polls of the present instant
	cleared int64   // the instant at which the price was found
	turn    int     // which sources are asked next
	end     int64   // the instant up to which anything is expected of anybody, as far as was looked
}

// usualMemory is over how many instants the usual number of polls is taken.
const usualMemory = 32

// pass lets instants pass; n is what the first choice after them may take.
func (m *priceMarket) pass(instants int64, n int) {
	if m.usual == 0 {
		m.usual = float64(n)
	} else if instants > 0 {
		keep := math.Pow(1-1.0/usualMemory, float64(instants))
		m.usual = keep*m.usual + (1-keep)*m.taken/float64(instants)
	}
	m.taken = 0
}

// supply returns how many polls an instant there are.
func (m *priceMarket) supply() float64 {
	if m.polls > 0 {
		return m.polls
	}
	return m.usual
}

// due reports whether the price is to be found again.
func (m *priceMarket) due(at, epoch int64) bool {
	return !m.open || at-m.cleared >= max(1, epoch)
}

// asked is how many sources are asked what they would want at a price.
const asked = 128

// clear finds the price at which the sources want as many polls as there are.
func (p *Priced) clear() {
	m := &p.market
	m.open, m.cleared = true, p.reached
	slots, share := p.ask()
	if len(slots) == 0 || m.supply() <= 0 {
		return
	}
	m.end = p.ending(slots)
	demand := func(price float64) (sum float64) {
		for _, slot := range slots {
			sum += p.lookAt(slot, p.reached, price).polls
		}
		return sum / share
	}
	m.price = m.clearing(demand)
}

// ending returns the instant after which nothing more is expected of any of the
// slots, if there is one within the horizon. Where all ends, as what is known of
// a history does, there is nothing to wait for: else polls would be put off until
// then, when there is no contest for them any more.
func (p *Priced) ending(slots []freshet.Slot) int64 {
	if p.conf.Estimator == nil {
		return ranking.Never
	}
	end, far := p.reached, p.reached+int64(p.conf.Horizon)
	for _, slot := range slots {
		if p.expect(slot, far-1, far) > 0 {
			return ranking.Never
		}
		for end < far && p.expect(slot, end, far) > 0 {
			end++
		}
	}
	return end
}

// ask returns the sources to be asked, others each time, and which share of all
// they are.
func (p *Priced) ask() (slots []freshet.Slot, share float64) {
	n := len(p.pages)
	step := max(1, n/asked)
	p.market.turn = (p.market.turn + 1) % step
	there, all := 0, 0
	for i := p.market.turn; i < n; i += step {
		all++
		if page := &p.pages[i]; page.there && !page.paused {
			there++
			slots = append(slots, freshet.Slot(i))
		}
	}
	if there == 0 {
		return nil, 0
	}
	return slots, float64(all) / float64(n)
}

// clearing returns the price at which demand, which falls with the price, passes
// the supply. It begins with the present price.
func (m *priceMarket) clearing(demand func(price float64) float64) float64 {
	low, reach := m.price, 1.15
	if low < leastPrice {
		low, reach = 0.5, 4
	}
	high, supply := low, m.supply()
	if demand(low) > supply {
		for high *= reach; demand(high) > supply; reach *= reach {
			low, high = high, high*reach
		}
	} else {
		for low /= reach; demand(max(low, leastPrice)) <= supply; reach *= reach {
			if low < leastPrice {
				return leastPrice
			}
			low, high = low/reach, low
		}
		low = max(low, leastPrice)
	}
	for high > low*priceStep {
		mid := math.Sqrt(low * high)
		if demand(mid) > supply {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

const (
	leastPrice = 1e-12 // below which nobody could tell a price from none
	priceStep  = 1.02  // how exactly a price is found
)
