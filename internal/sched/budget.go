package sched

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// A Budget is how many requests may be spent: at most Polls in any stretch of
// time as long as Per, counted as the servers see them. Spending is spread over
// steps, at each of which the policy chooses again.
type Budget struct {
	Polls float64
	Per   time.Duration

	// Instant is how often the policy is asked. Zero means as often as one
	// poll is due, but no more often than every tenth of a second.
	Instant time.Duration
}

// ParseBudget reads a budget such as "60/m", "500/s", "1000/h", "5000/d" or
// "10/30s".
func ParseBudget(s string) (Budget, error) {
	bad := func(why string) (Budget, error) {
		return Budget{}, invalid.Errorf("budget", "%q %s; use polls per time, such as 60/m, 500/s, 1000/h or 10/30s", s, why)
	}
	count, per, ok := strings.Cut(strings.TrimSpace(s), "/")
	if !ok {
		return bad("has no slash")
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(count), 64)
	if err != nil {
		return bad("does not begin with a number")
	}
	switch {
	case !(n > 0):
		return bad("allows no polls at all")
	case n > 1e6:
		return bad("is more than 1,000,000 polls")
	}
	d, err := units.ParsePer(strings.TrimSpace(per))
	if err != nil {
		return bad("has no time after the slash")
	}
	if d < time.Second || d > 366*units.Day {
		return bad("must count over a time from 1 second to 1 year")
	}
	return Budget{Polls: n, Per: d}, nil
}

// String returns the budget as ParseBudget reads it.
func (b Budget) String() string {
	return strconv.FormatFloat(b.Polls, 'g', -1, 64) + "/" + units.FormatPer(b.Per)
}

// PerSecond returns the budget as a rate.
func (b Budget) PerSecond() float64 { return b.Polls / b.Per.Seconds() }

// finestStep bounds how often a policy is asked: a step costs a pass
// over the sources, and a tenth of a second is finer than any source's rhythm.
const finestStep = 100 * time.Millisecond

// pace returns the step, and how many polls each brings.
func (b Budget) pace() (step time.Duration, each float64) {
	if b.Instant > 0 {
		return b.Instant, b.per(b.Instant)
	}
	one := time.Duration(float64(b.Per) / b.Polls)
	if one >= finestStep {
		return one, 1
	}
	return finestStep, b.per(finestStep)
}

// per returns how many polls a step brings. It divides by how many steps
// the stretch has, so that a whole budget that can come out whole does.
func (b Budget) per(step time.Duration) float64 {
	return b.Polls / (float64(b.Per) / float64(step))
}

// spending is the requests that the budget allows: the token bucket spreads them over time,
// and the hard limit bounds them in any stretch as long as the budget's.
type spending struct {
	bucket  tokenBucket
	hard    hardLimit
	started bool // before the first step no time has passed
}

// start sets the first step.
func (b *spending) start(now time.Time, budget Budget) {
	if b.started {
		return
	}
	b.started = true
	b.bucket = newTokenBucket(budget, now)
	b.hard = newHardLimit(budget)
}

// set changes the budget. What has been spent stays spent.
func (b *spending) set(now time.Time, budget Budget) {
	b.bucket = newTokenBucket(budget, now)
	b.hard.allow(budget)
}

// reserve takes room for so many requests that a poll will make.
func (b *spending) reserve(requests int) {
	b.bucket.left -= float64(requests)
	b.hard.begin(requests)
}

// reserveOne takes room for one more request if there is some.
func (b *spending) reserveOne() bool {
	if !b.hard.room(1) {
		return false
	}
	b.reserve(1)
	return true
}

// end ends a poll that had so many requests reserved and made so many of them.
func (b *spending) end(now time.Time, reserved, made int) {
	b.hard.end(now, reserved, made)
	b.bucket.left += float64(reserved - made)
}

// A tokenBucket gives out a budget step by step. What a step leaves over is
// lost, except that a fractional allowance carries up to one step's worth
// (at least one poll), so that it comes to its rate.
type tokenBucket struct {
	step    time.Duration
	each    float64
	epoch   time.Time
	reached int64 // the step up to which polls have been given out
	left    float64
}

func newTokenBucket(b Budget, now time.Time) tokenBucket {
	step, each := b.pace()
	return tokenBucket{step: step, each: each, epoch: now, left: each}
}

// fill gives out what the steps up to now have brought.
func (p *tokenBucket) fill(now time.Time) {
	at := int64(now.Sub(p.epoch) / p.step)
	if at <= p.reached {
		return
	}
	passed := float64(at - p.reached)
	p.reached = at
	carry := min(p.left, 0) // a debt is always carried
	if p.each != math.Trunc(p.each) {
		carry = min(p.left+p.each*(passed-1), max(1, p.each))
	} else if carry < 0 {
		carry = min(carry+p.each*(passed-1), 0)
	}
	p.left = carry + p.each
}

// whole returns how many polls can be begun. The small allowance is for the
// rounding of sums of fractions.
func (p *tokenBucket) whole() int { return int(math.Floor(p.left + 1e-9)) }

// next returns when the next step brings something.
func (p *tokenBucket) next() time.Time {
	need := max(1, math.Ceil((1-p.left)/p.each-1e-9))
	return p.epoch.Add(time.Duration(p.reached+int64(need)) * p.step)
}

// A hardLimit counts the requests that a server may have seen within the last
// stretch of time, and so keeps the budget hard: a request counts from before
// it leaves until a whole stretch after its answer is in. Whenever in between
// the server saw it, no stretch holds more than most.
type hardLimit struct {
	most    int
	per     time.Duration
	flying  int           // requests reserved by polls under way
	bucket  time.Duration // requests that ended within one are kept as one; 0 if each is kept
	landed  []spent       // in the order of their ends
	past    int           // how many of landed are forgotten
	counted int           // sum over the others
}

// spent is requests that ended at a time, or a little before.
type spent struct {
	ended    time.Time
	requests int
}

// buckets is in how many parts the stretch of a budget is divided that allows more
// requests than that. What ended in one part counts until the last of it is a whole
// stretch ago: never too short, and too long by at most a bucket.
const buckets = 4096

func newHardLimit(b Budget) (c hardLimit) {
	c.allow(b)
	return c
}

// allow sets what is allowed from now on. What was spent stays spent.
func (c *hardLimit) allow(b Budget) {
	c.most, c.per, c.bucket = int(math.Ceil(b.Polls)), b.Per, 0
	if c.most > buckets {
		c.bucket = b.Per / buckets
	}
}

// forget drops what ended a whole stretch before now.
func (c *hardLimit) forget(now time.Time) {
	for c.past < len(c.landed) && !c.landed[c.past].ended.Add(c.per).After(now) {
		c.counted -= c.landed[c.past].requests
		c.past++
	}
	if c.past > len(c.landed)/2 {
		c.landed = c.landed[:copy(c.landed, c.landed[c.past:])]
		c.past = 0
	}
}

// room reports whether so many more requests fit below the hard limit.
func (c *hardLimit) room(requests int) bool { return c.used()+requests <= c.most }

// atMost returns how many of so many requests a poll can reserve: if it needs
// more than the whole budget, it waits for the rest on the way.
func (c *hardLimit) atMost(requests int) int { return min(requests, c.most) }

// used returns how many requests are counted.
func (c *hardLimit) used() int { return c.flying + c.counted }

func (c *hardLimit) begin(requests int) { c.flying += requests }

func (c *hardLimit) end(now time.Time, reserved, made int) {
	c.flying -= reserved
	if made <= 0 {
		return
	}
	c.counted += made
	if last := len(c.landed) - 1; last >= c.past && c.together(c.landed[last].ended, now) {
		c.landed[last].ended = later(c.landed[last].ended, now)
		c.landed[last].requests += made
		return
	}
	c.landed = append(c.landed, spent{now, made})
}

// together reports whether requests that ended at two times are kept as one. In a replay
// all polls of a step end at once: one entry for them keeps the list as short as
// there are steps.
func (c *hardLimit) together(a, b time.Time) bool {
	return a.Equal(b) || c.bucket > 0 && a.UnixNano()/int64(c.bucket) == b.UnixNano()/int64(c.bucket)
}

// sort restores the order of ends after they came in another order.
func (c *hardLimit) sort() {
	slices.SortStableFunc(c.landed[c.past:], func(a, b spent) int { return a.ended.Compare(b.ended) })
	kept := c.landed[:c.past]
	for _, s := range c.landed[c.past:] {
		if last := len(kept) - 1; last >= c.past && c.together(kept[last].ended, s.ended) {
			kept[last] = spent{s.ended, kept[last].requests + s.requests}
			continue
		}
		kept = append(kept, s)
	}
	c.landed = kept
}

// opens returns when the oldest counted request is forgotten; zero if none is.
func (c *hardLimit) opens() time.Time {
	if c.past == len(c.landed) {
		return time.Time{}
	}
	return c.landed[c.past].ended.Add(c.per)
}

// full reports whether there is no room at now for a poll of so many requests,
// and when there will be; zero if that takes a poll under way to end.
func (c *hardLimit) full(now time.Time, requests int) (bool, time.Time) {
	counted, next := c.counted, c.past
	forget := func() {
		counted -= c.landed[next].requests
		next++
	}
	room := func() bool { return c.flying+counted+requests <= c.most }
	for next < len(c.landed) && !c.landed[next].ended.Add(c.per).After(now) {
		forget()
	}
	if room() {
		return false, time.Time{}
	}
	for next < len(c.landed) {
		opens := c.landed[next].ended.Add(c.per)
		if forget(); room() {
			return true, opens
		}
	}
	return true, time.Time{}
}

// Spent returns how many requests of the present stretch of the budget are
// spent at now, those of polls under way included, of how many.
func (s *Scheduler) Spent(now time.Time) (used, most int) {
	if !s.budget.started {
		return 0, newHardLimit(s.limits.Budget).most
	}
	s.budget.hard.forget(now)
	return s.budget.hard.used(), s.budget.hard.most
}
