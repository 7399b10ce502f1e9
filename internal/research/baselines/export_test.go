package baselines

// What the literature's rules are made of, for tests against what the papers prove.
var (
	Freshest    = freshest
	Harmonic    = harmonic
	ExplorePass = explorePass
)

// Likeliest returns the rate that LambdaCrawl estimates from intervals.
func Likeliest(gaps []float64, changed []bool, usual float64) float64 {
	return likeliest(pageOf(gaps, changed), usual)
}

// MomentMatched returns the rate that explore-commit estimates from intervals.
func MomentMatched(gaps []float64, changed []bool, usual float64) float64 {
	return momentMatched(pageOf(gaps, changed), usual)
}

func pageOf(gaps []float64, changed []bool) *refreshPage {
	p := &refreshPage{}
	for i, gap := range gaps {
		p.looks = append(p.looks, look{float32(gap), changed[i]})
	}
	return p
}

// Approximated returns a rate after one more poll of Avrachenkov's estimator.
var Approximated = approximated

// CrawlValue returns the crawl value of GREEDY-NCIS.
func CrawlValue(unsigned, signals, wrong, elapsed, n float64) float64 {
	return crawlValue(signalModel{unsigned, signals, wrong}, elapsed, n)
}
