package lab

import "freshet/internal/freshet/objective"

// priced returns a bound by prices. Asks are a first idea of them.
func (b *board) priced(budget, reached float64, asks []float64) float64 {
	m := market{instants: b.grid.Instants, budget: budget}
	waits := b.lasting() && b.uniform()
	when := make([]int32, m.instants+1)
	if waits {
		m.tidy = level
	}
	var scratch path
	m.reply = func(prices, demand []float64, work *int) (sum float64) {
		if waits {
			cheapest(when, prices)
		}
		for page := range b.grid.pages {
			b.rest()
			changes := b.grid.Of(page)
			s, c := b.page(page)
			switch {
			case len(changes) == 0 || s.weight <= 0:
			case waits:
				sum += waiting(changes, s, prices, demand, when, work)
			case s.life.Kind == objective.VisibleUntilNext:
				sum += apart(changes, s, c, prices, demand, work)
			default:
				sum += scratch.best(changes, s, c, prices, demand, work)
			}
		}
		return sum
	}
	least, _ := m.settle(reached, asks)
	return least
}

// apart returns the most that a page gains at these prices when every change
// replaces the one before. Each is then captured by a poll of its own.
func apart(changes []int32, s *pageWeight, c curve, prices, demand []float64, work *int) (sum float64) {
	for i, at := range changes {
		end := len(prices)
		if i+1 < len(changes) {
			end = int(changes[i+1])
		}
		best, when := 0.0, 0
		j := int(at)
		for ; j < end && j-int(at) < len(c); j++ {
			worth := s.weight * c[j-int(at)]
			if worth <= best {
				break // it only falls
			}
			if gain := worth - prices[j]; gain > best {
				best, when = gain, j
			}
		}
		*work += j - int(at) + 1
		if when > 0 {
			sum += best
			demand[when]++
		}
	}
	return sum
}

// A path finds the best polls of one page by dynamic programming over its
// changes: between two changes it matters only how many have been seen, so the
// state after a poll is that number.
type path struct {
	gain []float64 // by changes seen: the most gained by then, price deducted
	most []float64 // of gain up to there
	prev []int32   // changes seen at the poll before
	when []int32   // the instant of the poll
}

// best returns the most that a page gains at these prices.
func (p *path) best(changes []int32, s *pageWeight, c curve, prices, demand []float64, work *int) float64 {
	p.reset(len(changes))
	top := 0
	for seen := 1; seen <= len(changes); seen++ {
		end := len(prices)
		if seen < len(changes) {
			end = int(changes[seen])
		}
		lowest := 0.0
		for j := int(changes[seen-1]); j < end; j++ {
			*work++
			delay := j - int(changes[seen-1])
			if delay >= len(c) || p.most[seen-1]+float64(seen)*s.weight*c[delay] <= p.gain[seen] {
				break // even if it cost nothing, and all were worth as much
			}
			// A poll gains less the later it is, until the next change, so
			// only one that is cheaper than all before it can be better.
			if delay > 0 && prices[j] >= lowest {
				continue
			}
			lowest = prices[j]
			p.extend(changes, seen, j, s, c, prices[j], work)
			if lowest == 0 {
				break
			}
		}
		p.most[seen] = max(p.most[seen-1], p.gain[seen])
		if p.gain[seen] > p.gain[top] {
			top = seen
		}
	}
	for at := top; at > 0; at = int(p.prev[at]) {
		demand[p.when[at]]++
	}
	return p.gain[top]
}

func (p *path) reset(changes int) {
	for len(p.gain) <= changes {
		p.gain, p.most = append(p.gain, 0), append(p.most, 0)
		p.prev, p.when = append(p.prev, 0), append(p.when, 0)
	}
	for i := 1; i <= changes; i++ {
		p.gain[i] = -1e300
	}
}

// extend tries a poll at instant j, at which seen changes have happened, after
// every poll that could have come before it.
func (p *path) extend(changes []int32, seen, j int, s *pageWeight, c curve, price float64, work *int) {
	captured := 0.0
	for before := seen; before > 0; before-- {
		*work += 4
		delay := j - int(changes[before-1])
		if delay >= len(c) || !s.life.Lasts(delay, seen-before) {
			// Nothing older is to be had: what was seen before it is best
			// left to the best that there is.
			if x := p.most[before] + captured - price; before < seen && x > p.gain[seen] {
				p.gain[seen], p.when[seen] = x, int32(j)
				p.prev[seen] = p.holder(before)
			}
			return
		}
		worth := s.weight * c[delay]
		if p.most[before-1]+captured+float64(before)*worth-price <= p.gain[seen] {
			return // even if all older ones were worth as much
		}
		captured += worth
		if x := p.gain[before-1] + captured - price; x > p.gain[seen] {
			p.gain[seen], p.prev[seen], p.when[seen] = x, int32(before-1), int32(j)
		}
	}
}

// holder returns who gained the most of the first states.
func (p *path) holder(upto int) int32 {
	for p.gain[upto] < p.most[upto] {
		upto--
	}
	return int32(upto)
}
