package estimate

import "math"

// RegularRate returns the rate of change of a source that had changed at so
// many of n looks, an interval apart. It is corrected for the bias of the
// likeliest rate, and finite even if every look found a change (Cho and
// Garcia-Molina, "Estimating frequency of change", 2003).
func RegularRate(changed, n int, interval float64) float64 {
	return math.Log((float64(n)+0.5)/(float64(n-changed)+0.5)) / interval
}

// IrregularRate returns the likeliest rate of change of a source, given the
// lengths of the intervals within which it had changed and of those within
// which it had not. It is infinite if it had changed within all of them.
func IrregularRate(changed, unchanged []float64) float64 {
	still := 0.0
	for _, d := range unchanged {
		still += d
	}
	switch {
	case len(changed) == 0:
		return 0
	case still == 0:
		return math.Inf(1)
	}
	mean := 0.0
	for _, d := range changed {
		mean += d / float64(len(changed))
	}
	return root(math.Log1p(float64(len(changed))*mean/still)/mean, func(rate float64) (value, slope float64) {
		value = -still
		for _, d := range changed {
			v, s := hidden(rate, d)
			value, slope = value+v, slope+s
		}
		return value, slope
	})
}

// hidden returns d/(e^(rate*d)-1), the pull of an interval that hides at least
// one change towards a higher rate, and its slope in rate.
func hidden(rate, d float64) (value, slope float64) {
	x := rate * d
	if x > 700 {
		return 0, 0
	}
	e := math.Expm1(x)
	value = d / e
	return value, -value * value * (e + 1)
}

// root returns where a falling, convex function of a rate above 0 is zero, by
// Newton's method held within a bracket. From a guess it takes a handful of
// steps.
func root(guess float64, f func(rate float64) (value, slope float64)) float64 {
	low, high := 0.0, math.Inf(1)
	rate := guess
	for range 100 {
		value, slope := f(rate)
		if value > 0 {
			low = rate
		} else {
			high = rate
		}
		next := rate - value/slope
		if !(next > low) || !(next < high) {
			next = (low + min(high, 4*rate)) / 2
		}
		if math.Abs(next-rate) <= 1e-13*rate {
			return next
		}
		rate = next
	}
	return rate
}
