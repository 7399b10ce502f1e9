package generate

import (
	"math"
	"math/rand/v2"
	"time"
)

// span returns x of a unit as a duration.
func span(x float64, unit time.Duration) time.Duration { return time.Duration(x * float64(unit)) }

// lognormal draws around a median.
func lognormal(r *rand.Rand, median, sd float64) float64 {
	return median * math.Exp(sd*r.NormFloat64())
}

// arrivals yields moments of a Poisson process, so many a day.
func arrivals(r *rand.Rand, perDay float64, length time.Duration, yield func(time.Duration)) {
	if perDay <= 0 {
		return
	}
	for at := 0.0; ; {
		at += r.ExpFloat64() / perDay
		if at >= length.Hours()/24 {
			return
		}
		yield(span(at, day))
	}
}

// poisson pages change at random, each at a rate of its own. The rates differ
// about as much as those of pages on the Web do.
func poisson(g Spec, r *rand.Rand, _ float64, yield func(time.Duration)) {
	const sd = 1
	arrivals(r, lognormal(r, g.PerDay*math.Exp(-sd*sd/2.0), sd), g.Length, yield)
}

// periodic pages have a minute of the hour around which they change, in most
// hours, and now and then another one.
func periodic(g Spec, r *rand.Rand, _ float64, yield func(time.Duration)) {
	phase, often := span(r.Float64(), time.Hour), .3+.7*r.Float64()
	for hour := time.Duration(0); hour < g.Length; hour += time.Hour {
		if r.Float64() < often {
			yield(hour + phase + span(r.NormFloat64(), g.Jitter))
		}
	}
	arrivals(r, 1, g.Length, yield)
}

// bursty pages are quiet, and then change every minute or so for a while.
func bursty(g Spec, r *rand.Rand, _ float64, yield func(time.Duration)) {
	const size = 8 // changes of a burst, on the average
	arrivals(r, lognormal(r, g.PerDay/size*math.Exp(-.5), 1), g.Length, func(at time.Duration) {
		yield(at)
		for r.Float64() < 1-1.0/size {
			at += span(r.ExpFloat64(), time.Minute)
			yield(at)
		}
	})
}

// auctioned pages are bid on a few times while they last, and hurriedly at
// their end. About as many end within the period as after it.
func auctioned(g Spec, r *rand.Rand, _ float64, yield func(time.Duration)) {
	end := span(2*r.Float64(), g.Length)
	arrivals(r, lognormal(r, 2.2, .3), day, func(time.Duration) {
		if r.Float64() < .2 {
			yield(end - span(r.ExpFloat64()*8, time.Minute))
			return
		}
		yield(span(r.Float64(), end))
	})
}

// atis pages are those of airports: two reports an hour, each near a minute of
// its own, and special ones in between.
func atis(g Spec, r *rand.Rand, _ float64, yield func(time.Duration)) {
	const special = .2 // an hour
	first, second := 5*time.Minute, 15*time.Minute
	if g.Pages > 1 {
		turn := span(r.Float64(), time.Hour).Truncate(time.Minute)
		first, second = first+turn, second+turn
	}
	for hour := time.Duration(0); hour < g.Length; hour += time.Hour {
		yield(hour + first + span(r.NormFloat64(), g.Jitter))
		yield(hour + second + span(r.NormFloat64(), g.Jitter))
	}
	arrivals(r, 24*special, g.Length, yield)
}

// vshaped sites mostly change hardly at all or nearly all the time.
func vshaped(r *rand.Rand, n int) []float64 {
	bins := []struct{ weight, from, to float64 }{
		{.36, 0, .08}, {.30, .08, .19}, {.07, .2, .3}, {.035, .3, .4}, {.02, .4, .5},
		{.015, .5, .6}, {.01, .6, .7}, {.005, .7, .8}, {.005, .8, .9}, {.18, .9, 1},
	}
	rho := make([]float64, n)
	for i := range rho {
		// One draw from each of n equal slices: every seed has the shape.
		u := (float64(i) + r.Float64()) / float64(n)
		for _, b := range bins {
			if u < b.weight {
				rho[i] = b.from + (b.to-b.from)*u/b.weight
				break
			}
			u -= b.weight
			rho[i] = b.to
		}
	}
	r.Shuffle(n, func(i, j int) { rho[i], rho[j] = rho[j], rho[i] })
	return rho
}

// normal sites are spread around one half.
func normal(r *rand.Rand, n int) []float64 {
	rho := make([]float64, n)
	for i := range rho {
		for rho[i] = -1; rho[i] < 0 || rho[i] > 1; {
			rho[i] = .5 + .3*r.NormFloat64()
		}
	}
	return rho
}

// repeated pages have a rate around that of their site, far from it as often as
// not, and do in every five cycles what they did in the five before: five is
// how many were ever recorded.
func repeated(g Spec, r *rand.Rand, rho float64, yield func(time.Duration)) {
	const likeness = .3 // of the pages of a site
	q := beta(r, likeness*rho, likeness*(1-rho))
	var bits [5]bool
	for i := range bits {
		bits[i] = r.Float64() < q
	}
	for c := 0; time.Duration(c)*g.Cycle < g.Length; c++ {
		if at := span(float64(c)+r.Float64(), g.Cycle); bits[c%len(bits)] {
			yield(at)
		}
	}
}

// anew pages change in a cycle or do not, with the chance of their site.
func anew(g Spec, r *rand.Rand, rho float64, yield func(time.Duration)) {
	for c := 0; time.Duration(c)*g.Cycle < g.Length; c++ {
		if at := span(float64(c)+r.Float64(), g.Cycle); r.Float64() < rho {
			yield(at)
		}
	}
}

// unlike directories change once a minute, once a day, and at rates between, in no order.
func unlike(r *rand.Rand, n int) []float64 {
	rho := make([]float64, n)
	for i := range rho {
		rho[i] = float64(i) / float64(max(1, n-1))
	}
	r.Shuffle(n, func(i, j int) { rho[i], rho[j] = rho[j], rho[i] })
	return rho
}

// steady pages change at random, all of a directory at one rate.
func steady(g Spec, r *rand.Rand, rho float64, yield func(time.Duration)) {
	const perDay = 24 * 60 // of the fastest
	arrivals(r, math.Pow(perDay, rho), g.Length, yield)
}

// beta draws from the beta distribution.
func beta(r *rand.Rand, a, b float64) float64 {
	if a <= 0 {
		return 0
	}
	if b <= 0 {
		return 1
	}
	return 1 / (1 + math.Exp(logGamma(r, b)-logGamma(r, a)))
}

// logGamma draws the logarithm of a gamma variate: with a small shape the
// variate itself would be too small to write down. The method is that of
// Marsaglia and Tsang, for a shape raised by one and then lowered again.
func logGamma(r *rand.Rand, shape float64) float64 {
	d := shape + 1 - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if u := 1 - r.Float64(); math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return math.Log(d*v) + math.Log(1-r.Float64())/shape
		}
	}
}
