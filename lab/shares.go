package lab

import "math"

// Shares are how a budget is divided between brains. The parts of all, and what is on its
// way from one to another, are the budget: so at no time can all together spend more.
type shares struct {
	held  []float64 // what each may spend of a stretch
	least []float64 // that each keeps, so that it can see that it is worth more
	whole bool      // parts are whole polls

	way   float64 // what one has given up, and no other may spend yet
	to    int     // who will
	since int     // the instant in which it was given up
}

// How shares move. Prices are what one poll was worth, and that is chance for the most
// part: a small difference means nothing, and one exchange moves little.
const (
	band      = 1.1  // prices that are so many times as high, or less, stay as they are
	near      = 1.5  // prices that are so many times as high, or less, have met
	grip      = 0.5  // of what would make two prices equal, so much moves at once
	most      = 0.25 // of what a brain has, it gives up so much at once
	keeps     = 0.05 // of its part by the number of sources, a brain keeps so much
	memory    = 24   // instants over which a price is taken
	idleShare = 0.1  // a brain that leaves so much of its part is idle
)

// newShares divides a budget by the number of sources of each brain.
func newShares(budget float64, sources []int, whole bool) *shares {
	s := &shares{held: make([]float64, len(sources)), least: make([]float64, len(sources)), whole: whole}
	all := 0
	for _, n := range sources {
		all += n
	}
	even := make([]float64, len(sources))
	for i, n := range sources {
		even[i] = budget * ratio(float64(n), float64(all), 0)
		s.held[i], s.least[i] = even[i], keeps*even[i]
		if whole && n > 0 {
			s.held[i], s.least[i] = 1, max(1, math.Floor(keeps*even[i]))
		}
	}
	if whole {
		s.fill(math.Floor(budget), even)
	}
	return s
}

// fill gives out whole polls until the budget is spent, always to who lacks most.
func (s *shares) fill(budget float64, even []float64) {
	for _, x := range s.held {
		budget -= x
	}
	for ; budget > 0; budget-- {
		next := 0
		for i := range s.held {
			if even[i]-s.held[i] > even[next]-s.held[next] {
				next = i
			}
		}
		s.held[next]++
	}
}

// A claim is what a brain says of its part of the budget.
type claim struct {
	price float64 // of the last poll that it can afford, of late; 0 while that is not known
	given float64 // polls that it could have made since the last exchange
	made  float64 // polls that it has made
}

// hear takes in the price of an instant. What was said long before an exchange counts
// little.
func (c *claim) hear(price float64) {
	switch {
	case price == 0:
	case c.price == 0:
		c.price = price
	default:
		c.price += (price - c.price) / memory
	}
}

// idle reports whether a brain has not made the polls that it could: one more is worth
// nothing to it, whatever the last one was worth.
func (b claim) idle() bool { return b.given-b.made >= max(1, idleShare*b.given) }

// settle gives what was given up to who is to have it, if that was long enough ago.
func (s *shares) settle(instant, wait int) bool {
	if s.way == 0 || instant < s.since+wait {
		return false
	}
	s.held[s.to] += s.way
	s.way = 0
	return true
}

// exchange lowers the part of the brain to which a poll is worth least, for the one to
// which it is worth most. It reports whether the prices have met.
func (s *shares) exchange(instant int, claims []claim) (met bool) {
	from, to := s.ends(claims)
	if from < 0 || to < 0 || from == to {
		return false
	}
	cheap, dear := claims[from].price, claims[to].price
	if claims[from].idle() {
		cheap = 0
	}
	met = dear <= near*cheap
	if dear <= band*cheap {
		return met
	}
	// Where a poll is worth in inverse proportion to how many there are, the prices are
	// equal when both have these parts of what they have together.
	both := s.held[from] + s.held[to]
	equal := both * s.held[to] * dear / (s.held[to]*dear + s.held[from]*cheap)
	move := min(grip*(equal-s.held[to]), most*s.held[from], s.held[from]-s.least[from])
	if s.whole {
		move = math.Floor(max(move, min(1, s.held[from]-s.least[from])))
	}
	if move > 0 {
		s.held[from] -= move
		s.way, s.to, s.since = move, to, instant
	}
	return met
}

// ends returns the brain to which a poll is worth least, of those that have something to
// give, and the one to which it is worth most; -1 if there is none.
func (s *shares) ends(claims []claim) (from, to int) {
	from, to = -1, -1
	for i, b := range claims {
		switch {
		case s.held[i] == 0:
		case b.idle():
			if s.held[i] > s.least[i] && (from < 0 || !claims[from].idle() || b.given-b.made > claims[from].given-claims[from].made) {
				from = i
			}
		case b.price == 0: // nothing is known yet
		default:
			if s.held[i] > s.least[i] && (from < 0 || !claims[from].idle() && b.price < claims[from].price) {
				from = i
			}
			if to < 0 || b.price > claims[to].price {
				to = i
			}
		}
	}
	return from, to
}

// A dealer deals the polls of an instant to the brains in whole numbers, so that each has
// its part in the long run and no instant has more than the budget.
type dealer struct {
	owed []float64 // to each
}

// deal returns how many polls each may make in the next instant.
func (d *dealer) deal(parts []float64) []int {
	sum := 0.0
	for i, part := range parts {
		d.owed[i] += part
		sum += d.owed[i]
	}
	polls := make([]int, len(parts))
	for range int(math.Floor(sum + 1e-6)) {
		next := 0
		for i := range d.owed {
			if d.owed[i] > d.owed[next] {
				next = i
			}
		}
		d.owed[next]--
		polls[next]++
	}
	return polls
}
