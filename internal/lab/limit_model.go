package lab

import (
	"math"

	"freshet/internal/invalid"
)

// Gains says what a poll at instant j is expected to gain from the change of
// instant k, for 1 <= k <= j: weight times urgency times the chance that there
// is such a change and that it lasts until then. It does not grow with j.
type Gains func(k, j int) float64

// modelMost bounds the tables of a model: pages times instants squared.
const modelMost = 1 << 27

// LimitOf returns a bound on the expected utility of any schedule of so many
// polls an instant that is made from what is known beforehand of each page, and
// not from what polls find. It is for models of some hundreds of instants.
func LimitOf(instants int, budget float64, pages []Gains) (Limit, error) {
	if !(budget >= 0) || budget > 1e9 {
		return Limit{}, invalid.Errorf("budget", "%v is not a number of polls an instant", budget)
	}
	if len(pages)*instants*instants > modelMost {
		return Limit{}, invalid.Errorf("instants", "%d are too many for a model of %d pages", instants, len(pages))
	}
	m := newModel(instants, pages)
	if budget == 0 || instants == 0 {
		return exactly(0, MethodTotal), nil
	}
	reached, asks := m.greedy(budget)
	least, prices := m.market(budget).settle(reached, asks)
	l := Limit{Reached: max(reached, m.planned(budget, prices))}
	l.lower(least, MethodPrices)
	return l, nil
}

// A model is the gain of every poll of every page after every other.
type model struct {
	instants int
	gain     [][]float64 // by page: at a*(instants+1)+b, of a poll at b when the one before was at a
}

func newModel(instants int, pages []Gains) *model {
	m := &model{instants: instants}
	for _, phi := range pages {
		row := instants + 1
		gain := make([]float64, row*row)
		for b := 1; b <= instants; b++ {
			for a := b - 1; a >= 0; a-- {
				gain[a*row+b] = gain[(a+1)*row+b] + phi(a+1, b)
			}
		}
		m.gain = append(m.gain, gain)
	}
	return m
}

// greedy returns the utility of polling, at every instant, what gains most.
func (m *model) greedy(budget float64) (sum float64, asks []float64) {
	asks = make([]float64, m.instants+1)
	last := make([]int, len(m.gain))
	bids, tokens := auction{}, 0.0
	for at := 1; at <= m.instants; at++ {
		tokens = allowance(tokens, budget)
		bids.open(int(math.Floor(tokens + 1e-9)))
		for page, gain := range m.gain {
			if g := gain[last[page]*(m.instants+1)+at]; g > 0 {
				bids.offer(bid{int32(page), g})
			}
		}
		for _, x := range bids.won {
			sum += x.gain
			last[x.page] = at
		}
		asks[at] = bids.lost
		tokens -= float64(len(bids.won))
	}
	return sum, asks
}

// planned returns the utility of polling, at every instant, where a poll now beats the best later
// ones by most, at these prices.
func (m *model) planned(budget float64, prices []float64) (sum float64) {
	row := m.instants + 1
	last, after := make([]int, len(m.gain)), make([][]float64, len(m.gain))
	demand, next := make([]float64, row), make([]int, row)
	for page, gain := range m.gain {
		after[page] = make([]float64, row)
		m.path(gain, prices, demand, after[page], next)
	}
	bids, tokens := auction{}, 0.0
	for at := 1; at <= m.instants; at++ {
		tokens = allowance(tokens, budget)
		bids.open(int(math.Floor(tokens + 1e-9)))
		for page, gain := range m.gain {
			gain, later := gain[last[page]*row:][:row], 0.0
			for b := at + 1; b <= m.instants; b++ {
				later = max(later, gain[b]-prices[b]+after[page][b])
			}
			if ahead := gain[at] + after[page][at] - later; ahead > 0 {
				bids.offer(bid{int32(page), ahead})
			}
		}
		for _, x := range bids.won {
			sum += m.gain[x.page][last[x.page]*row+at]
			last[x.page] = at
		}
		tokens -= float64(len(bids.won))
	}
	return sum
}

// market returns the bound by prices of a model.
func (m *model) market(budget float64) *market {
	best, next := make([]float64, m.instants+1), make([]int, m.instants+1)
	return &market{instants: m.instants, budget: budget, reply: func(prices, demand []float64, work *int) (sum float64) {
		for _, gain := range m.gain {
			sum += m.path(gain, prices, demand, best, next)
		}
		*work += len(m.gain) * m.instants * m.instants / 2
		return sum
	}}
}

// path returns the most that one page gains at these prices, and adds its polls
// to demand.
func (m *model) path(gain, prices, demand, best []float64, next []int) float64 {
	row := m.instants + 1
	for a := m.instants; a >= 0; a-- { // best[a] is what comes after a poll at a
		best[a], next[a] = 0, 0
		for b := a + 1; b <= m.instants; b++ {
			if x := gain[a*row+b] - prices[b] + best[b]; x > best[a] {
				best[a], next[a] = x, b
			}
		}
	}
	for at := next[0]; at > 0; at = next[at] {
		demand[at]++
	}
	return best[0]
}
