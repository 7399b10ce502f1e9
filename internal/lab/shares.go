package lab

import (
	"math"

	"freshet/internal/cluster/shards"
)

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

// newShares divides a budget by the number of sources of each brain.
func newShares(budget float64, sources []int, whole bool) *shares {
	weights := make([]float64, len(sources))
	for i, n := range sources {
		weights[i] = float64(n)
	}
	return &shares{held: shards.Divide(budget, weights, whole), least: shards.Least(budget, weights, whole), whole: whole}
}

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
func (s *shares) exchange(instant int, claims []shards.Claim) (met bool) {
	m := shards.Next(s.held, s.least, claims, s.whole)
	if m.Polls > 0 {
		s.held[m.From] -= m.Polls
		s.way, s.to, s.since = m.Polls, m.To, instant
	}
	return m.Met
}

// A dealer deals the polls of an instant to the brains in whole numbers, so that each has
// its part in the long run and no instant has more than the budget.
type dealer struct {
	owed []float64 // to each
}

// deal returns how many polls each may make in the next instant.
func (d *dealer) deal(held []float64) []int {
	sum := 0.0
	for i, part := range held {
		d.owed[i] += part
		sum += d.owed[i]
	}
	polls := make([]int, len(held))
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
