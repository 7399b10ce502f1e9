package baselines

import (
	"math"
	"slices"

	"freshet/internal/learn/estimate"
	"freshet/internal/sched/rootfind"
)

// schemeOf returns the scheme of a paper. Rates are not known in advance to any of them, also
// where a paper takes them for known.
func schemeOf(name string) scheme {
	switch name {
	case "azar":
		// Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for
		// crawling" (PNAS 2018): the frequencies with the highest freshness, and polls at
		// equal distances. Sources that it gives up would never be estimated again, so a
		// twentieth of the budget is spread over all.
		return scheme{estimate: likeliest, frequencies: freshest, floor: 0.05}
	case "explore-commit":
		// Upadhyay, Busa-Fekete, Kotlowski, Pal and Szorenyi, "Learning to crawl" (AAAI
		// 2020): explore and commit, in episodes of doubled length, because the length of
		// the whole is not known.
		return scheme{estimate: momentMatched, frequencies: freshest, explores: explorePass}
	case "avrachenkov":
		// Avrachenkov, Patil and Thoppe, "Online algorithms for estimating change rates of
		// web pages" (2020): stochastic approximation, for which polls come at random.
		online := func(p *refreshPage, _ float64) float64 { return p.online }
		return scheme{estimate: online, frequencies: freshest, poisson: true, floor: 0.05}
	}
	// Kolobov, Peres, Lu and Horvitz, "Staying up to date with online content changes using
	// reinforcement learning for scheduling" (NeurIPS 2019): LambdaCrawl with the harmonic
	// penalty, which starves no source, and epochs of learning.
	return scheme{estimate: likeliest, frequencies: harmonic}
}

// freshest returns the frequencies at which copies are fresh the largest share of the time,
// by weight, if polls come at random: the sum of weight*f/(f+rate) is greatest. A source
// has f = sqrt(weight*rate)*s - rate, or nothing if that is negative (Azar et al.).
func freshest(rates, weights []float64, budget float64) []float64 {
	var order []int
	for i, rate := range rates {
		if rate > 0 && weights[i] > 0 {
			order = append(order, i)
		}
	}
	value := func(i int) float64 { return weights[i] / rates[i] } // of the first poll
	slices.SortStableFunc(order, func(a, b int) int {
		if value(a) > value(b) {
			return -1
		}
		return 1
	})
	scale, sum, roots := 0.0, budget, 0.0
	for _, i := range order {
		sum, roots = sum+rates[i], roots+math.Sqrt(weights[i]*rates[i])
		if sum/roots*math.Sqrt(value(i)) <= 1 {
			break
		}
		scale = sum / roots
	}
	frequencies := make([]float64, len(rates))
	for _, i := range order {
		frequencies[i] = max(0, math.Sqrt(weights[i]*rates[i])*scale-rates[i])
	}
	return frequencies
}

// harmonic returns the frequencies with the least harmonic penalty: the sum of
// weight*ln((f+rate)/f) is least (Kolobov et al.).
func harmonic(rates, weights []float64, budget float64) []float64 {
	frequencies := make([]float64, len(rates))
	demand := func(price float64) (sum float64) {
		for i, rate := range rates {
			x := 4 * weights[i] / price
			if rate > 0 && x > 0 { // the root of f*(f+rate) = weight*rate/price, without cancellation
				frequencies[i] = x / 2 / (1 + math.Sqrt(1+x/rate))
				sum += frequencies[i]
			}
		}
		return sum
	}
	if demand(1) == 0 {
		return frequencies
	}
	excess := func(logPrice float64) float64 { return math.Log(demand(math.Exp(logPrice)) / budget) }
	low, high := -1.0, 1.0
	for excess(low) < 0 && low > -600 {
		low *= 2
	}
	for excess(high) > 0 && high < 600 {
		high *= 2
	}
	_, price := rootfind.Falling(excess, low, high, excess(low), excess(high), 1e-9)
	demand(math.Exp(price))
	return frequencies
}

// likeliest returns the rate at which what polls saw is likeliest. As in LambdaCrawl, one
// interval with a change and one without are added, half as long as usual.
func likeliest(p *refreshPage, usual float64) float64 {
	changed, still := []float32{float32(usual / 2)}, usual/2
	sum := usual / 2
	for _, l := range p.looks {
		if l.changed {
			changed = append(changed, l.gap)
			sum += float64(l.gap)
		} else {
			still += float64(l.gap)
		}
	}
	// Likeliest adds half of the mean interval with a change against bias of its own.
	return estimate.Likeliest(changed, max(still-sum/float64(len(changed))/2, usual/1e6))
}

// Bounds of the rates of explore-commit, in changes in the usual gap.
const (
	leastMatched = 1e-3
	mostMatched  = 10
)

// momentMatched returns the rate at which as many polls are expected to find a change as
// did, within bounds (Upadhyay et al.).
func momentMatched(p *refreshPage, usual float64) float64 {
	found := 0.0
	for _, l := range p.looks {
		if l.changed {
			found++
		}
	}
	missing := func(logRate float64) float64 {
		sum := found
		for _, l := range p.looks {
			sum += math.Expm1(-math.Exp(logRate) * float64(l.gap))
		}
		return sum
	}
	low, high := math.Log(leastMatched/usual), math.Log(mostMatched/usual)
	above, below := missing(low), missing(high)
	switch {
	case above <= 0:
		return math.Exp(low)
	case below >= 0:
		return math.Exp(high)
	}
	from, to := rootfind.Falling(missing, low, high, above, below, 1e-6)
	return math.Exp((from + to) / 2)
}

// explorePass reports whether a pass explores: the first square root of the passes of an
// episode. Episode k has 2^k passes, so that the loss grows as the square root of time.
func explorePass(pass int) bool {
	episode := 1
	for pass >= episode {
		pass -= episode
		episode *= 2
	}
	return float64(pass) < math.Sqrt(float64(episode))
}

// approximated returns the estimate of a rate after one more poll, at polls that come at
// random with a frequency: rate/(rate+frequency) of them find a change, so that the
// expected step is 0 at the true rate (Avrachenkov et al.).
func approximated(rate, frequency, step float64, changed bool) float64 {
	eta := math.Pow(step+1, -0.75)
	if changed {
		return rate + eta*frequency
	}
	return rate * (1 - eta)
}
