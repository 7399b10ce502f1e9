package paper

import (
	"math"
	"math/rand/v2"

	"freshet/internal/sched/policy"
)

// A logFactorials holds the logarithms of 0!, 1!, 2! and so on.
type logFactorials []float64

func logFactorialsTo(n int) logFactorials {
	f := make(logFactorials, n+1)
	for i := 1; i <= n; i++ {
		f[i] = f[i-1] + math.Log(float64(i))
	}
	return f
}

// choose returns the logarithm of n over k.
func (f logFactorials) choose(n, k int) float64 { return f[n] - f[k] - f[n-k] }

// drawing returns the chance that x of s pages, drawn without replacement out of
// n of which k have changed, have changed.
func (f logFactorials) drawing(n, k, s, x int) float64 {
	if x < 0 || x > k || s-x < 0 || s-x > n-k {
		return 0
	}
	return math.Exp(f.choose(k, x) + f.choose(n-k, s-x) - f.choose(n, s))
}

// A twoSiteWorld is the example of section 3.2: two sites of equal size.
type twoSiteWorld struct {
	pages, downloads int
	changed          [2]int
}

// expected returns the share of changed pages that is expected among the
// downloads with so many samples of each site, exactly. Either site may come
// first among equals.
func (w twoSiteWorld) expected(samples int, share func([]policy.Site, float64) []float64) float64 {
	f := logFactorialsTo(w.pages)
	sum := 0.0
	for a := 0; a <= samples; a++ {
		for b := 0; b <= samples; b++ {
			p := f.drawing(w.pages, w.changed[0], samples, a) * f.drawing(w.pages, w.changed[1], samples, b)
			if p == 0 {
				continue
			}
			first := w.finds(samples, [2]int{a, b}, [2]int{0, 1}, share)
			sum += p * (first + w.finds(samples, [2]int{a, b}, [2]int{1, 0}, share)) / 2
		}
	}
	return sum / float64(w.downloads)
}

// finds returns how many changed pages are expected when the samples found so
// many, with the sites in an order.
func (w twoSiteWorld) finds(samples int, changed, order [2]int, share func([]policy.Site, float64) []float64) float64 {
	sites := make([]policy.Site, 2)
	for place, site := range order {
		sites[place] = policy.Site{Size: w.pages, Sampled: samples, Changed: changed[site]}
	}
	sum := 0.0
	for place, n := range share(sites, float64(w.downloads-2*samples)) {
		site := order[place]
		sum += float64(changed[site]) + n*float64(w.changed[site]-changed[site])/float64(w.pages-samples)
	}
	return sum
}

// A rhoShape is a distribution of sites over shares of changed pages.
type rhoShape struct {
	name     string
	quantile func(u float64) float64
}

// rhoShapes are those for which the sample size is worked out.
func rhoShapes() (uniform, normal, vee rhoShape) {
	from := math.Erfc(.5/.3/math.Sqrt2) / 2
	return rhoShape{"uniform", func(u float64) float64 { return u }},
		rhoShape{"normal", func(u float64) float64 {
			return .5 + .3*math.Sqrt2*math.Erfinv(2*(from+u*(1-2*from))-1)
		}},
		rhoShape{"V-shaped", func(u float64) float64 { return quantileOf(vShape, u) }}
}

// draw returns the shares of so many sites, in no order.
func (d rhoShape) draw(chance *rand.Rand, sites int) []float64 {
	rho := make([]float64, sites)
	for i := range rho {
		// One from each of equal slices: every seed has the shape.
		rho[i] = d.quantile((float64(i) + chance.Float64()) / float64(sites))
	}
	chance.Shuffle(sites, func(i, j int) { rho[i], rho[j] = rho[j], rho[i] })
	return rho
}

// mean returns the mean share of the sites between two quantiles.
func (d rhoShape) mean(from, to float64) float64 {
	const slices = 4000
	sum := 0.0
	for i := range slices {
		sum += d.quantile(from + (to-from)*(float64(i)+.5)/slices)
	}
	return sum / slices
}

// A sizeCase asks how many pages to sample.
type sizeCase struct {
	shape rhoShape
	pages int     // of each site
	ratio float64 // of the pages that can be downloaded in a cycle
}

// lead returns how far the mean of the sites that can be downloaded is above
// that of all.
func (c sizeCase) lead() float64 { return c.shape.mean(1-c.ratio, 1) - c.shape.mean(0, 1) }

// A sizeAnswer is how many, by each way of telling.
type sizeAnswer struct {
	exact              int // the best
	from, to           int // within a thousandth of the best
	printed, corrected float64
	rule               float64
	value              []float64 // expected share of changed pages by sample size, from 1
}

// at returns the value at a sample size, as a share of the best.
func (a sizeAnswer) at(s float64) float64 {
	i := min(len(a.value)-1, max(0, int(math.Round(s))-1))
	return a.value[i] / a.value[a.exact-1]
}

// answer works out the sample sizes. Slices is how finely sites are told apart.
func (u samplingRules) answer(c sizeCase, slices int) sizeAnswer {
	n, r := float64(c.pages), c.ratio
	const step = 1e-4
	threshold := c.shape.quantile(1 - r)
	density := 2 * step / (c.shape.quantile(1-r+step) - c.shape.quantile(1-r-step))
	a := sizeAnswer{
		printed:   printedSampleSize(n, r, density, c.shape.mean(1-r, 1), c.shape.mean(0, 1)),
		corrected: u.sampleSize(n, r, density, threshold, c.shape.mean(0, 1-r)),
		rule:      policy.SampleSize(n, r),
	}
	most := min(int(n*r)-1, int(3*max(a.rule, a.corrected)))
	f := logFactorialsTo(c.pages)
	for s := 1; s <= most; s++ {
		a.value = append(a.value, c.value(f, s, slices))
		if a.exact == 0 || a.value[s-1] > a.value[a.exact-1] {
			a.exact = s
		}
	}
	for s, v := range a.value {
		if v >= .999*a.value[a.exact-1] {
			if a.from == 0 {
				a.from = s + 1
			}
			a.to = s + 1
		}
	}
	return a
}

// value returns the share of changed pages among the downloads that the greedy
// policy is expected to find with s samples, for very many sites.
func (c sizeCase) value(f logFactorials, s, slices int) float64 {
	weight, gain := make([]float64, s+1), make([]float64, s+1)
	each, found := 1/float64(slices), 0.0
	for i := range slices {
		k := int(math.Round(c.shape.quantile((float64(i)+.5)/float64(slices)) * float64(c.pages)))
		found += each * float64(k) / float64(c.pages) * float64(s)
		for x := max(0, s-c.pages+k); x <= min(s, k); x++ {
			p := each * f.drawing(c.pages, k, s, x)
			weight[x] += p
			gain[x] += p * float64(k-x)
		}
	}
	downloads := float64(c.pages) * c.ratio
	sites := (downloads - float64(s)) / float64(c.pages-s)
	for x := s; x >= 0 && sites > 0; x-- {
		if weight[x] > 0 {
			part := min(1, sites/weight[x])
			found += part * gain[x]
			sites -= weight[x]
		}
	}
	return found / downloads
}
