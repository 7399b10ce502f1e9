package policy

import (
	"math"

	"freshet/internal/sched/rootfind"
)

// An Objective is what polls of sources that change at random, each at its own
// rate, are to achieve together. Rates and frequencies are in one unit of time;
// weights say how much each source matters.
//
// Every objective is a sum over the sources in which further polls of a source
// bring less and less. So one price for a poll settles the best frequencies of
// all of them: each source is polled as often as a poll is worth the price.
type Objective uint8

// The objectives.
const (
	// Recall is the rate of changes seen before the next replaces them. With
	// equal weights it makes frequencies proportional to the rates.
	Recall Objective = iota

	// Freshness is the share of time in which the copy is up to date (Cho and
	// Garcia-Molina). Sources that change too fast to be kept up with get
	// nothing.
	Freshness

	// Age is the mean time for which the copy has been out of date.
	Age
)

// At returns how often a source is polled at a price.
func (o Objective) At(rate, weight, price float64) float64 {
	if !(rate > 0) || !(weight > 0) {
		return 0
	}
	switch o {
	case Freshness:
		return evenly(rate, price*rate/weight)
	case Age:
		return rate / ageQuantile(price*rate*rate/weight)
	}
	return evenly(rate, price/weight)
}

// evenly returns the frequency of evenly spaced polls at which one more brings
// price, as a share of the most that it could bring.
func evenly(rate, price float64) float64 {
	if price >= 1 {
		return 0
	}
	return rate / gapQuantile(price)
}

// enough is how small, next to x, a step of Newton's method is to be the last:
// the error after it is about the square of that.
const enough = 1e-8

// gapQuantile returns the x with 1 - (1+x)e^-x = y: how many changes are
// expected between two polls at the marginal worth y.
func gapQuantile(y float64) float64 {
	half := -math.Log1p(-y) // x - ln(1+x) = half, convex in x
	s := math.Sqrt(2 * half)
	x := s + s*s/3 + s*s*s/36
	if s < 1e-3 {
		return x
	}
	for range 20 {
		step := (x - math.Log1p(x) - half) * (1 + x) / x
		x -= step
		if math.Abs(step) <= enough*x {
			break
		}
	}
	return x
}

// ageQuantile returns the x with x^2/2 + x e^-x - (1-e^-x) = y.
func ageQuantile(y float64) float64 {
	x := max(math.Cbrt(3*y), math.Sqrt(2*y)) // from below, and the left side is convex
	for range 60 {
		step := (ageLoss(x) - y) / (x * -math.Expm1(-x))
		x -= step
		if math.Abs(step) <= enough*x {
			break
		}
	}
	return x
}

func ageLoss(x float64) float64 {
	if x < 1e-2 { // where the terms below all but cancel
		return x * x * x * (1.0/3 - x*(1.0/8-x*(1.0/30-x/144)))
	}
	return x*x/2 + x*math.Exp(-x) + math.Expm1(-x)
}

// clearing returns the prices between which demand, which falls with the price,
// passes the budget: at low it is no less and at high no more, and both are one
// where it comes within a relative error of it.
func clearing(guess, within, budget float64, demand func(price float64) float64) (low, high float64) {
	excess := func(x float64) float64 { return math.Log(demand(math.Exp(x)) / budget) }
	lo, hi := math.Log(guess), math.Log(guess)
	above := excess(lo)
	below := above
	for step := 0.25; above < 0 && step < 1e3; step *= 2 {
		hi, below = lo, above
		lo -= step
		above = excess(lo)
	}
	for step := 0.25; below > 0 && step < 1e3; step *= 2 {
		lo, above = hi, below
		hi += step
		below = excess(hi)
	}
	if above > 0 && below < 0 {
		lo, hi = rootfind.Falling(excess, lo, hi, above, below, within)
	}
	return math.Exp(lo), math.Exp(hi)
}

// What polls are worth where copies are to be up to date (Freshness), or not out of date for
// long (Age), by the price at which it is all the same whether a source is polled now or an
// instant later. As in [Value] time is in instants,
// and a change comes at the end of one, before its polls. With the cost c(s) of an
// instant in which the source was last seen s instants ago, the index is
//
//	I(tau) = tau*c(tau) - c(1) - ... - c(tau-1)
//
// since waiting costs c(tau), and delays all later polls, each instant of which would
// cost what the last ones did on average. It grows with tau, and where every poll has
// that price, a source is best polled when its index comes to it.

// freshIndex is the index where c(s) is the chance of a change in s instants, at a rate
// an instant. It grows to the time for which a source stays as it is, and no further:
// those that change too fast are not worth their polls.
func freshIndex(rate, tau float64) float64 {
	x := rate * tau
	if x < shortGap {
		return x * (tau + 1) / 2
	}
	return max(0, math.Expm1(-x)/math.Expm1(-rate)-tau*math.Exp(-x))
}

// ageIndex is the index where c(s) is the age of the copy that is to be expected: the
// time since the first change that it lacks. It grows without bound.
func ageIndex(rate, tau float64) float64 {
	x := rate * tau
	if x < shortAge {
		return x * (4*tau*tau + 3*tau - 1) / 12 * (1 - 3*x/8)
	}
	changes, stays := -math.Expm1(-rate), math.Exp(-x)
	fresh := 1/changes - 0.5
	return max(0, tau*(tau+1)/2+fresh*(tau*stays-(1-stays)/changes))
}

// shortAge is below which x a series serves the age better.
const shortAge = 1e-3

// expectedAge returns how old the copy is to be expected tau after the last poll.
func expectedAge(rate, tau float64) float64 {
	x := rate * tau
	if x < shortAge {
		return x * tau / 2 * (1 - x/3)
	}
	return tau + math.Expm1(-x)/rate
}

// meanAge returns how old the copy is on average between polls that are tau apart.
func meanAge(rate, tau float64) float64 {
	x := rate * tau
	if x < shortAge {
		return x * tau / 6 * (1 - x/4)
	}
	return tau * ageBetween(x)
}

// ageBetween is the mean age between two polls, where they are 1 apart and x changes come.
func ageBetween(x float64) float64 { return 0.5 - 1/x - math.Expm1(-x)/(x*x) }

// staleIndex is the index of a source that is known to have changed, so many instants
// ago.
func staleIndex(aim uint8, rate, age float64) float64 {
	if aim == forFreshness {
		return 1 / -math.Expm1(-rate)
	}
	return ageIndex(rate, age+min(1/rate, math.Sqrt(2*age/rate))) // about where so much is expected
}

// tinyRate stands for none at all where one has to divide by it.
const tinyRate = 1e-9
