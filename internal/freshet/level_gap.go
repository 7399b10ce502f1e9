package freshet

import "math"

// Gap returns how many seconds can lie between two polls at most for a level to
// be kept of a source that changes at random, so many times a second, and whose
// changes can be captured for as long as its life says.
func (l ServiceLevel) Gap(life Life, rate float64) float64 {
	within := l.Within.Seconds()
	if life.Kind == LifeWindow {
		within = min(within, life.For.Seconds())
	}
	longest := within / l.Share // if every change waits for the next poll
	if life.Kind == LifeAppend || life.Kind == LifeWindow || !(rate > 0) {
		return longest
	}
	last := 1
	if life.Kind == LifeLast {
		last = max(1, life.N)
	}
	inTime := func(gap float64) float64 { return waitFor(rate*min(gap, within), last) / (rate * gap) }
	low, high := 0.0, longest
	for range 60 {
		if mid := (low + high) / 2; inTime(mid) >= l.Share {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// waitFor returns how many of the changes of a time, in which x are expected, are
// still among the last n at its end.
func waitFor(x float64, n int) (sum float64) {
	exactly, fewer := math.Exp(-x), 0.0
	for z := range n {
		fewer += exactly
		sum += max(0, 1-fewer)
		exactly *= x / float64(z+1)
	}
	return sum
}
