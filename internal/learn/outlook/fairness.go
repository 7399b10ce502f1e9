package outlook

import "math"

// A Fairness tells how many of the sources that have changed were polled since they
// were first seen. A policy that goes where most changes are can leave others aside
// for ever, and nothing else shows it. The zero Fairness is ready for use.
type Fairness struct {
	polled float64 // sources that have changed and were polled
	left   float64 // that have changed and were not
	spread float64 // variance of left, by chance
}

// Add counts a source that has changed with a chance, and was polled since or not.
func (f *Fairness) Add(changed float64, polled bool) {
	if polled {
		f.polled += changed
		return
	}
	f.left += changed
	f.spread += changed * (1 - changed)
}

// Share returns the share of the sources that have changed which was polled. Without
// any that has changed it is 1.
func (f Fairness) Share() Range { return FairnessOver([]Fairness{f}) }

// FairnessOver returns the mean of the shares of groups of sources, such as those of
// one host. A group counts by the chance that any of it has changed, and not by how many
// sources it has: a large host does not hide small ones that nobody looks at.
func FairnessOver(groups []Fairness) Range {
	var all Fairness
	for _, f := range groups {
		all.left += f.left
		all.spread += f.spread
	}
	mean := meanShare(groups, 1)
	r := Range{Mean: mean, Low: mean, High: mean}
	if all.spread > 0 { // how many were left is log-normal, so that it stays above zero
		sd := math.Sqrt(math.Log1p(all.spread/(all.left*all.left)) + likeOthers*likeOthers)
		r.Low = min(mean, meanShare(groups, math.Exp(-sd*sd/2+nineInTen*sd)))
		r.High = max(mean, meanShare(groups, math.Exp(-sd*sd/2-nineInTen*sd)))
	}
	return r
}

// meanShare returns the mean of the shares of groups, if so many times as many sources
// were left as is thought.
func meanShare(groups []Fairness, times float64) float64 {
	sum, weights := 0.0, 0.0
	for _, f := range groups {
		changed := f.polled + times*f.left
		if changed > 0 {
			weight := min(1, changed)
			sum, weights = sum+weight*f.polled/changed, weights+weight
		}
	}
	if weights == 0 {
		return 1
	}
	return sum / weights
}

// likeOthers is how far off, on the scale of the logarithm, the number of sources that
// have changed unseen may be because it rests on what others of their kind did.
const likeOthers = 0.7
