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
