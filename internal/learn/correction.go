package learn

import "math"

// The features of a correction: what has been seen in the stretch of time since
// a source was last polled, and how far the profiles bend it. All are logarithms
// of ratios, and 0 where there is nothing to say.
const (
	always     = iota // 1: how far expectations are off on the whole
	everywhere        // activity of all sources
	onSite            // activity of the site, beyond that
	profileOfSite
	profileOfPage
	features
)

// A feature vector describes the stretch since the last poll of a source.
type vector [features]float64

// A correction is a regression, for all sources together, of whether polls find
// a change on the features, on top of what is expected without it (with the
// complementary log-log link, so that what is expected has the exponent 1). A
// weight of -1 on a profile switches it off: that is how evidence gates it.
type correction struct {
	weight vector
	doubt  [features]vector // covariance of the weights
}

func newCorrection() (c correction) {
	c.weight[everywhere], c.weight[onSite] = 0.5, 0.5
	for i := range c.doubt {
		c.doubt[i][i] = 0.04
	}
	return c
}

// mostCorrected bounds the logarithm of a correction.
const mostCorrected = 6

// log returns the logarithm of the correction of what is expected.
func (c *correction) log(f *vector) (sum float64) {
	for i, w := range c.weight {
		sum += w * f[i]
	}
	return min(mostCorrected, max(-mostCorrected, sum))
}

// expect returns the changes expected, if the chance of any was without the
// correction.
func (c *correction) expect(f *vector, chance float64) float64 {
	return c.correct(f, -math.Log1p(-chance))
}

// correct returns the changes expected, if they were so many without the
// correction.
func (c *correction) correct(f *vector, expected float64) float64 {
	sum := math.Log(expected)
	for i, w := range c.weight {
		sum += w * f[i]
	}
	return math.Exp(min(2.5, max(-12, sum)))
}

// learn takes one step of an extended Kalman filter.
func (c *correction) learn(f *vector, expected float64, changed bool) {
	odds := math.Exp(-expected) / -math.Expm1(-expected)
	slope := -expected
	if changed {
		slope = min(4, expected*odds)
	}
	slope = max(-4, slope)
	information := expected * expected * odds
	var along vector
	across := 0.0
	for i := range along {
		for j, x := range f {
			along[i] += c.doubt[i][j] * x
		}
		across += f[i] * along[i]
	}
	shrink := 1 / (1 + information*across)
	for i := range along {
		for j := range along {
			c.doubt[i][j] -= information * shrink * along[i] * along[j]
		}
		c.weight[i] += shrink * along[i] * slope
	}
}
