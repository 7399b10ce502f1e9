package sched

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// A Budget is how many requests may be spent: at most Polls in any stretch of
// time as long as Per, counted as the servers see them. Spending is spread over
// instants, at each of which the policy chooses anew.
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
		return Budget{}, &freshet.InvalidError{Field: "budget", Reason: fmt.Sprintf("%q %s; use polls per time, such as 60/m, 500/s, 1000/h or 10/30s", s, why)}
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
	d, err := freshet.ParsePer(strings.TrimSpace(per))
	if err != nil {
		return bad("has no time after the slash")
	}
	if d < time.Second || d > 366*freshet.Day {
		return bad("must count over a time from 1 second to 1 year")
	}
	return Budget{Polls: n, Per: d}, nil
}

// String returns the budget as ParseBudget reads it.
func (b Budget) String() string {
	return strconv.FormatFloat(b.Polls, 'g', -1, 64) + "/" + freshet.FormatPer(b.Per)
}

// PerSecond returns the budget as a rate.
func (b Budget) PerSecond() float64 { return b.Polls / b.Per.Seconds() }

// finestInstant bounds how often a policy is asked: an instant costs a pass
// over the sources, and a tenth of a second is finer than any source's rhythm.
const finestInstant = 100 * time.Millisecond

// pace returns the instant, and how many polls each brings.
func (b Budget) pace() (instant time.Duration, each float64) {
	if b.Instant > 0 {
		return b.Instant, b.per(b.Instant)
	}
	one := time.Duration(float64(b.Per) / b.Polls)
	if one >= finestInstant {
		return one, 1
	}
	return finestInstant, b.per(finestInstant)
}

// per returns how many polls an instant brings. It divides by how many instants
// the stretch has, so that a whole budget that can come out whole does.
func (b Budget) per(instant time.Duration) float64 {
	return b.Polls / (float64(b.Per) / float64(instant))
}

// A purse gives out a budget instant by instant. What an instant leaves over is
// lost, except that a fractional allowance carries up to one instant's worth
// (at least one poll), so that it comes to its rate.
type purse struct {
	instant time.Duration
	each    float64
	epoch   time.Time
	reached int64 // the instant up to which polls have been given out
	left    float64
}

func newPurse(b Budget, now time.Time) purse {
	instant, each := b.pace()
	return purse{instant: instant, each: each, epoch: now, left: each}
}

// fill gives out what the instants up to now have brought.
func (p *purse) fill(now time.Time) {
	at := int64(now.Sub(p.epoch) / p.instant)
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
func (p *purse) whole() int { return int(math.Floor(p.left + 1e-9)) }

// next returns when the next instant brings something.
func (p *purse) next() time.Time {
	need := max(1, math.Ceil((1-p.left)/p.each-1e-9))
	return p.epoch.Add(time.Duration(p.reached+int64(need)) * p.instant)
}
