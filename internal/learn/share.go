package learn

import (
	"math"

	"freshet/internal/freshet"
)

// NineInTen is how many standard deviations either way of its mean hold nine in
// ten of a normal variable: what the bounds of a [freshet.Range] stand for.
const NineInTen = 1.6448536269514722

// Share returns the estimated share of changes that were captured. Without any
// change there was nothing to miss.
func Share(t freshet.Tally) freshet.Range {
	missed := t.Happened - t.Captured
	switch {
	case t.Happened <= 0 || missed <= 0:
		return freshet.Range{Mean: 1, Low: 1, High: 1}
	case t.Captured == 0:
		return freshet.Range{}
	}
	spread := unseenSpread(t, missed)
	of := func(factor float64) float64 { return t.Captured / (t.Captured + missed*factor) }
	middle := -spread * spread / 2
	r := freshet.Range{
		Mean: of(1),
		Low:  min(of(1), of(math.Exp(middle+NineInTen*spread))),
		High: max(of(1), of(math.Exp(middle-NineInTen*spread))),
	}
	// Changes are whole, and clocks miss none: there may well have been none.
	if math.Exp(-missed) > 0.05 || NineInTen*t.Uneven > missed {
		r.High = 1
	}
	return r
}

// unseenSpread returns how uncertain it is, on the scale of the logarithm, how many
// changes there were beyond those that are certain: log-normal, so that the number stays
// above zero and has the mean and the variance that the tally gives.
func unseenSpread(t freshet.Tally, missed float64) float64 {
	model := modelError(t) * (1 - min(1, t.Shown/missed))
	return math.Sqrt(math.Log1p((t.Variance+t.Doubt*t.Doubt+t.Uneven*t.Uneven)/(missed*missed)) + model*model)
}

// Divergence returns the estimated number of changes that copies lacked, on average
// over time. Uncertain are how many changes there were beyond the one that a poll shows,
// and when between two polls they came.
func Divergence(t freshet.Tally) freshet.Range {
	mean := t.Divergence()
	if mean <= 0 || t.Found <= 0 || t.Happened <= 0 {
		return freshet.Range{Mean: mean, Low: mean, High: mean}
	}
	when := 1 / (3 * t.Found) // square of the relative error: times even between two polls
	often := 0.0
	if more := t.Happened - t.Found; more > 0 {
		spread := unseenSpread(t, more)
		often = math.Expm1(spread*spread) * (more / t.Happened) * (more / t.Happened)
	}
	spread := math.Sqrt(math.Log1p(when + often))
	return freshet.Range{
		Mean: mean,
		Low:  min(mean, mean*math.Exp(-spread*spread/2-NineInTen*spread)),
		High: max(mean, mean*math.Exp(-spread*spread/2+NineInTen*spread)),
	}
}

// modelError returns how far off, on the scale of the logarithm, the number of
// missed changes may be because sources do not change at random: regular ones
// hide fewer changes between two polls, and those that change in bursts hide
// more. Where nearly every poll finds a change, only the model says how many
// there were. The two numbers are fitted to recorded sources.
func modelError(t freshet.Tally) float64 {
	found := 0.0
	if t.Polls > 0 {
		found = min(1, t.Captured/t.Polls)
	}
	return 0.4 + 1.5*found*found*found*found
}
