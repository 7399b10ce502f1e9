package forecast

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched/rootfind"
)

// A class is sources that are alike, or all but alike.
type class struct {
	n      float64 // how many
	manner *manner
	rate   float64 // the mean of what it may be
	doubt  doubt
	worth  float64 // weight for its cost
	toll   float64 // requests a poll takes

	least, most float64 // seconds between polls
	floor       float64 // the price of its host, if that is above the common one

	atLeast, atMost float64 // the index at those gaps
}

// bounds returns the least and the greatest gap of a prospect, in seconds.
func (t Terms) bounds(p *Prospect) (least, most float64) {
	least = max(p.MinGap, shortest).Seconds()
	floor := least
	least = max(least, p.Rest.Seconds())
	most = t.Longest.Seconds()
	if p.MaxGap > 0 {
		most = min(most, p.MaxGap.Seconds())
	}
	if p.Rate.Mean > 0 {
		most = min(most, t.expected/p.Rate.Mean)
	}
	most = max(least, most)
	if held := t.held(p) * t.stretch; held > 0 {
		most = min(most, held)
		least = min(least, max(floor, most))
	}
	least = max(least, cmp.Or(p.Requests, 1)/t.most)
	return least, max(least, most)
}

// classOf returns the class of one prospect.
func (t Terms) classOf(p *Prospect, m *manner) class {
	c := class{
		n: 1, manner: m, rate: p.Rate.Mean,
		worth: cmp.Or(p.Weight, 1) / cmp.Or(p.Cost, 1), toll: cmp.Or(p.Requests, 1),
	}
	c.least, c.most = t.bounds(p)
	c.doubt = doubtOf(p.Rate.Mean, spread(p.Rate))
	c.settle()
	return c
}

// settle works out what the rest of the class implies.
func (c *class) settle() {
	if c.doubt.n == 0 {
		c.rate = 0
	}
	c.atLeast, c.atMost = c.index(c.least), c.index(c.most)
}

// index returns what a poll of one source is worth over the best later one.
func (c *class) index(gap float64) float64 {
	sum := 0.0
	for _, g := range c.doubt.all() {
		sum += g.chance * c.manner.index(g.rate, gap)
	}
	return sum * c.worth
}

// gap returns how long a source waits for its next poll at a price.
func (c *class) gap(price float64) float64 {
	price = max(price, c.floor)
	switch {
	case price >= c.atMost:
		return c.most
	case price <= c.atLeast:
		return c.least
	}
	// Where waiting longer changes nothing, the index stays as it is for all
	// longer gaps. A price ever so little lower finds the shortest of them.
	price *= 1 - 1e-8
	excess := func(x float64) float64 { return math.Log(price / c.index(math.Exp(x))) }
	from, to := rootfind.Falling(excess, math.Log(c.least), math.Log(c.most), math.Log(price/c.atLeast), math.Log(price/c.atMost), 1e-9)
	return math.Exp((from + to) / 2)
}

// within returns the expected share of a source's changes that is captured
// within a time, at a gap.
func (c *class) within(gap, within float64) float64 {
	if c.rate == 0 {
		return 1
	}
	sum := 0.0
	for _, g := range c.doubt.all() {
		sum += g.chance * g.rate * c.manner.captured(g.rate, min(gap, within))
	}
	return sum / (c.rate * gap)
}

// Horizons are the times for which a Point says which share of the changes is
// seen within.
var Horizons = [...]time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// A sum is what becomes of the changes of some sources, a second.
type sum struct {
	sources  float64
	polls    float64
	requests float64
	changes  float64
	captured float64
	delay    float64 // of the captured, together
	within   [len(Horizons)]float64
	fresh    float64 // over the sources
	stale    float64 // likewise

	// How much of that is in doubt: variances of what is captured and of what
	// changes, and how they go together.
	doubtCaptured, doubtChanges, doubtBoth float64
}

// count adds a class at a gap.
func (s *sum) count(c *class, gap float64) {
	s.sources += c.n
	s.polls += c.n / gap
	s.requests += c.n * c.toll / gap
	if c.rate == 0 {
		s.fresh += c.n
		return
	}
	var one sum
	for _, g := range c.doubt.all() {
		part := g.rate * c.manner.captured(g.rate, gap) / gap
		one.captured += g.chance * part
		one.delay += g.chance * g.rate * c.manner.waited(g.rate, gap) / gap
		for i, h := range Horizons {
			if within := h.Seconds(); within < gap {
				one.within[i] += g.chance * g.rate * c.manner.captured(g.rate, within) / gap
			} else {
				one.within[i] += g.chance * part
			}
		}
		one.fresh += g.chance * fresh(g.rate, gap)
		one.stale += g.chance * stale(g.rate, gap)
		one.doubtCaptured += g.chance * part * part
		one.doubtChanges += g.chance * g.rate * g.rate
		one.doubtBoth += g.chance * part * g.rate
	}
	one.changes = c.rate
	one.doubtCaptured = max(0, one.doubtCaptured-one.captured*one.captured)
	one.doubtChanges = max(0, one.doubtChanges-c.rate*c.rate)
	one.doubtBoth -= one.captured * c.rate
	s.add(&one, c.n)
}

// add adds n times what another sum says of changes.
func (s *sum) add(o *sum, n float64) {
	s.sources += n * o.sources
	s.polls += n * o.polls
	s.requests += n * o.requests
	s.changes += n * o.changes
	s.captured += n * o.captured
	s.delay += n * o.delay
	for i := range s.within {
		s.within[i] += n * o.within[i]
	}
	s.fresh += n * o.fresh
	s.stale += n * o.stale
	s.doubtCaptured += n * o.doubtCaptured
	s.doubtChanges += n * o.doubtChanges
	s.doubtBoth += n * o.doubtBoth
}

// share returns the share of changes that is captured. Its bounds are of the
// rates that may be otherwise, each for itself. The odds of being captured are
// taken to be log-normal, which is as lopsided as rates are, and the same seen
// from what is captured and from what is missed.
func (s *sum) share() outlook.Range {
	if s.changes <= 0 {
		return outlook.Range{Mean: 1, Low: 1, High: 1}
	}
	r := min(1, s.captured/s.changes)
	variance := (s.doubtCaptured - 2*r*s.doubtBoth + r*r*s.doubtChanges) / (s.changes * s.changes)
	if r <= 0 || r >= 1 || variance <= 0 {
		return outlook.Range{Mean: r, Low: r, High: r}
	}
	wide := math.Sqrt(math.Log1p(variance / (r * r * (1 - r) * (1 - r))))
	middle := math.Log(r/(1-r)) - (0.5-r)*wide*wide // so that the mean is about r
	share := func(logOdds float64) float64 { return 1 / (1 + math.Exp(-logOdds)) }
	low, high := min(r, share(middle-learn.NineInTen*wide)), max(r, share(middle+learn.NineInTen*wide))
	return outlook.Range{Mean: r, Low: low, High: high}
}
