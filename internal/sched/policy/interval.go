package policy

import "math"

// An Interval is a range in which a share of changed pages is believed to lie.
type Interval struct {
	Low, High float64
}

// normalBound returns how many standard deviations either way hold alpha of a
// normal distribution.
func normalBound(alpha float64) float64 { return math.Sqrt2 * math.Erfinv(alpha) }

// clipped returns the range from a to b, cut to shares.
func clipped(a, b float64) Interval {
	return Interval{Low: max(0, min(a, 1)), High: min(1, max(b, 0))}
}

// FiniteWilsonInterval is Wilson's interval for n pages drawn without
// replacement out of size. It closes as the samples come to be the whole site.
func FiniteWilsonInterval(x, n, size int, alpha float64) Interval {
	if size <= n {
		p := float64(x) / float64(n)
		return Interval{p, p}
	}
	return wilson(x, n, normalBound(alpha)*math.Sqrt(float64(size-n)/float64(size-1)))
}

func wilson(x, n int, z float64) Interval {
	p, m := float64(x)/float64(n), float64(n)
	mid := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	return clipped((mid-half)/scale, (mid+half)/scale)
}
