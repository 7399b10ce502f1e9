package learn

import (
	"math"

	"freshet"
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
	// What is uncertain is how many were missed: log-normal, so that the number
	// stays above zero and has the mean and the variance that the tally gives.
	model := modelError(t) * (1 - min(1, t.Shown/missed))
	spread := math.Sqrt(math.Log1p((t.Variance+t.Doubt*t.Doubt+t.Uneven*t.Uneven)/(missed*missed)) + model*model)
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
