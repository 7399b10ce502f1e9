package estimate

import "math"

// Likeliest returns the rate at which it is likeliest that each of some intervals
// saw at least one change, and that none came in so much other time. Half an
// interval without a change is added to what was seen, which keeps the rate in
// bounds where every look found something, and takes most of its bias away
// elsewhere (Cho and Garcia-Molina). It is exact, whatever the intervals;
// [Looks.Rate] is the same where they are even.
func Likeliest[F float32 | float64](changed []F, still float64) float64 {
	if len(changed) == 0 {
		return 0
	}
	total := 0.0
	for _, d := range changed {
		total += float64(d)
	}
	n := float64(len(changed))
	mean := total / n
	still += mean / 2
	return root(math.Log1p(total/still)/mean, func(rate float64) (value, slope float64) {
		value = -still
		for _, d := range changed {
			v, s := hidden(rate, float64(d))
			value, slope = value+v, slope+s
		}
		return value, slope
	})
}

// hidden returns d/(e^(rate*d)-1), the pull of an interval that hides at least
// one change towards a higher rate, and its slope in rate.
func hidden(rate, d float64) (value, slope float64) {
	x := rate * d
	switch {
	case x > 700:
		return 0, 0
	case x < 1e-9: // the limit, where the quotient has no digits left
		return 1/rate - d/2, -1 / (rate * rate)
	}
	e := math.Expm1(x)
	value = d / e
	return value, -value * value * (e + 1)
}

// share returns x/(e^x-1): rate times pull of an interval in which x changes are
// expected. It falls from 1 to 0.
func share(x float64) float64 {
	if x < 1e-9 {
		return 1 - x/2
	}
	return x / math.Expm1(min(x, 700))
}

// shareOf returns the x whose share is v.
func shareOf(v float64) float64 {
	if v > 1-1e-6 {
		return max(0, 2*(1-v))
	}
	// The logarithm of the share is nearly straight: Newton's method on it
	// takes a few steps.
	goal := math.Log(max(v, 1e-300))
	x := 2 * (1 - v)
	for range 50 {
		e := math.Expm1(x)
		step := (math.Log(x/e) - goal) / (1/x - (e+1)/e)
		next := max(x-step, x/8)
		if math.Abs(next-x) <= 1e-14*x {
			return next
		}
		x = next
	}
	return x
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
