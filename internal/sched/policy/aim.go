package policy

import "math"

// What polls are worth to whoever wants a copy that is up to date (Freshness), or one
// that has not been out of date for long (Age), by the price at which it is all the same
// whether a source is polled now or an instant later. As in [Value] time is in instants,
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

// freshClock and ageClock are as freshIndex and ageIndex, of a source that changes as
// evenly as a clock, and nobody knows when.
func freshClock(rate, tau float64) float64 {
	tau = min(tau, 1/rate)
	return rate * tau * (tau + 1) / 2
}

func ageClock(rate, tau float64) float64 {
	period := 1 / rate
	within := min(tau, period)
	return rate*within*(4*within*within+3*within-1)/12 + (tau*(tau+1)-within*(within+1))/2
}

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
