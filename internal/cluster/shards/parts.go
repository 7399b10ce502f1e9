// Package shards divides a budget between several brains by what a poll is worth to each.
//
// Each brain has the hosts that a hash gives it, and a part of the budget. They tell each
// other one number: the price, which is what the last poll that a brain can afford is worth to
// it. A part of the budget moves from the brain with the lowest price to the one with the
// highest. Time and chance come from outside, as for all that decides.
package shards

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// How parts move. Prices are what one poll was worth, and that is chance for the most
// part: a small difference means nothing, and one exchange moves little.
const (
	band      = 1.1  // prices that are so many times as high, or less, stay as they are
	near      = 1.5  // prices that are so many times as high, or less, have met
	grip      = 0.5  // of what would make two prices equal, so much moves at once
	most      = 0.25 // of what a brain has, it gives up so much at once
	keeps     = 0.05 // of its part by the number of sources, a brain keeps so much
	idleShare = 0.1  // a brain that leaves so much of its part is idle
)

// Memory is over how many instants a price is taken.
const Memory = 24

// Most bounds how many brains there are.
const Most = 64

// A Claim is what a brain says of its part of the budget.
type Claim struct {
	Price float64 `json:"price,omitempty"` // of the last poll that it can afford, of late; 0 while that is not known
	Given float64 `json:"given,omitempty"` // polls that it could have made since the last exchange
	Made  float64 `json:"made,omitempty"`  // polls that it has made
}

// Hear takes in the price of some instants, or of a part of one. What was said long before
// an exchange counts little.
func (c *Claim) Hear(price, instants float64) {
	switch {
	case price == 0:
	case c.Price == 0:
		c.Price = price
	default:
		c.Price += (price - c.Price) / max(1, Memory/instants)
	}
}

// Idle reports whether a brain has not made the polls that it could: one more is worth
// nothing to it, whatever the last one was worth.
func (c Claim) Idle() bool { return c.Given-c.Made >= max(1, idleShare*c.Given) }

// Divide divides a budget in proportion to weights. Whole parts are whole polls, and
// whoever has a weight has one at least.
func Divide(budget float64, weights []float64, whole bool) []float64 {
	all := 0.0
	for _, w := range weights {
		all += w
	}
	held, even := make([]float64, len(weights)), make([]float64, len(weights))
	for i, w := range weights {
		if all > 0 {
			even[i] = budget * w / all
		}
		if held[i] = even[i]; whole {
			held[i] = min(1, math.Ceil(w))
		}
	}
	if whole {
		fill(held, math.Floor(budget), even)
	}
	return held
}

// fill gives out whole polls until the budget is spent, always to who lacks most.
func fill(held []float64, budget float64, even []float64) {
	for i, x := range held {
		if x > 0 { // at once, but for the last ones
			held[i] = max(x, math.Floor(even[i])-float64(len(held)))
		}
		budget -= held[i]
	}
	for ; budget > 0; budget-- {
		next := 0
		for i := range held {
			if even[i]-held[i] > even[next]-held[next] {
				next = i
			}
		}
		held[next]++
	}
}

// Least returns what each brain keeps of a budget, by its weight, so that it can see that a
// poll is worth more to it.
func Least(budget float64, weights []float64, whole bool) []float64 {
	least := Divide(budget, weights, false)
	for i, x := range least {
		if least[i] = keeps * x; whole && weights[i] > 0 {
			least[i] = max(1, math.Floor(least[i]))
		}
	}
	return least
}

// A Move is a part of a budget on its way from one brain to another.
type Move struct {
	From, To int
	Polls    float64 // none if nothing moves
	Met      bool    // the prices are about the same
}

// Next returns what is to move from the brain to which a poll is worth least to the one to
// which it is worth most.
func Next(held, least []float64, claims []Claim, whole bool) (m Move) {
	from, to := ends(held, least, claims)
	if from < 0 || to < 0 || from == to {
		return m
	}
	m.From, m.To = from, to
	cheap, dear := claims[from].Price, claims[to].Price
	if claims[from].Idle() {
		cheap = 0
	}
	if m.Met = dear <= near*cheap; dear <= band*cheap {
		return m
	}
	// Where a poll is worth in inverse proportion to how many there are, the prices are
	// equal when both have these parts of what they have together.
	both := held[from] + held[to]
	equal := both * held[to] * dear / (held[to]*dear + held[from]*cheap)
	m.Polls = min(grip*(equal-held[to]), most*held[from], held[from]-least[from])
	if whole {
		m.Polls = math.Floor(max(m.Polls, min(1, held[from]-least[from])))
	}
	m.Polls = max(0, m.Polls)
	return m
}

// ends returns the brain to which a poll is worth least, of those that have something to
// give, and the one to which it is worth most; -1 if there is none.
func ends(held, least []float64, claims []Claim) (from, to int) {
	from, to = -1, -1
	for i, c := range claims {
		gives := held[i] > least[i]
		switch {
		case held[i] == 0:
		case c.Idle():
			if gives && (from < 0 || !claims[from].Idle() || c.Given-c.Made > claims[from].Given-claims[from].Made) {
				from = i
			}
		case c.Price == 0: // nothing is known yet
		default:
			if gives && (from < 0 || !claims[from].Idle() && c.Price < claims[from].Price) {
				from = i
			}
			if to < 0 || c.Price > claims[to].Price {
				to = i
			}
		}
	}
	return from, to
}

// Of returns which of so many brains has a host, or a source without one by its name.
func Of(host string, brains int) int {
	sum := fnv.New64a()
	sum.Write([]byte(host))
	return int(sum.Sum64() >> 11 % uint64(brains))
}

// A Shard is which of several brains one is. The zero Shard is a brain that has no others.
type Shard struct {
	Number int // from 1
	Of     int
}

// ParseShard reads a shard such as "2/3"; "" is that of a brain alone.
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{}, nil
	}
	number, of, _ := strings.Cut(s, "/")
	n, err1 := strconv.Atoi(number)
	all, err2 := strconv.Atoi(of)
	if err1 != nil || err2 != nil || n < 1 || n > all || all < 2 || all > Most {
		return Shard{}, fmt.Errorf("%q is not a shard; write which of how many it is, such as 2/3 (2 to %d in all)", s, Most)
	}
	return Shard{n, all}, nil
}

// String returns the shard as ParseShard reads it.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Number, s.Of)
}

// Alone reports whether there are no others.
func (s Shard) Alone() bool { return s.Of == 0 }

// Has returns the number of the shard that has a host, and whether it is this one. All hosts
// of a domain that somebody can register are in one shard: pages redirect from one to another.
func (s Shard) Has(host string) (number int, own bool) {
	if s.Alone() {
		return 0, true
	}
	number = Of(domain(host), s.Of) + 1
	return number, number == s.Number
}

// domain returns the part of the name of a host that somebody registered, or the host itself
// where nothing else is known of it, such as for an address.
func domain(host string) string {
	name := host
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		name = host[:at]
	}
	if strings.HasPrefix(name, "[") || strings.Trim(name, "0123456789.") == "" {
		return host
	}
	registered, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(name, "."))
	if err != nil {
		return host
	}
	return registered
}
