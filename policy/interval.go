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

// WaldInterval is the textbook interval for x changed of n sampled at the
// confidence alpha. It has no width at 0 of n and n of n, so a policy that
// decides by it decides after its first sample; it is here to be compared with.
func WaldInterval(x, n int, alpha float64) Interval {
	p := float64(x) / float64(n)
	half := normalBound(alpha) * math.Sqrt(p*(1-p)/float64(n))
	return clipped(p-half, p+half)
}

// ConservativeInterval is the normal interval at the largest variance that a
// share can have.
func ConservativeInterval(x, n int, alpha float64) Interval {
	p := float64(x) / float64(n)
	half := normalBound(alpha) / (2 * math.Sqrt(float64(n)))
	return clipped(p-half, p+half)
}

// WilsonInterval is Wilson's score interval: sound for few samples and for
// shares near 0 and 1.
func WilsonInterval(x, n int, alpha float64) Interval {
	return wilson(x, n, normalBound(alpha))
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

// ClopperPearsonInterval is the exact interval: it never holds the truth less
// often than alpha, and is the widest for it.
func ClopperPearsonInterval(x, n int, alpha float64) Interval {
	tail := (1 - alpha) / 2
	i := Interval{0, 1}
	if x > 0 {
		i.Low = bisect(func(p float64) bool { return 1-binomialBelow(x, n, p) < tail })
	}
	if x < n {
		i.High = bisect(func(p float64) bool { return binomialBelow(x+1, n, p) > tail })
	}
	return i
}

// bisect returns where in [0, 1] below turns from true to false.
func bisect(below func(p float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		if mid := (lo + hi) / 2; below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// binomialBelow returns the chance of fewer than x hits in n tries.
func binomialBelow(x, n int, p float64) float64 {
	whole, _ := math.Lgamma(float64(n) + 1)
	sum := 0.0
	for k := range x {
		a, _ := math.Lgamma(float64(k) + 1)
		b, _ := math.Lgamma(float64(n-k) + 1)
		sum += math.Exp(whole - a - b + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return sum
}
