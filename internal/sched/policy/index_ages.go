package policy

import (
	"math"

	"freshet/internal/freshet"
)

// ages is an urgency laid out to be summed over, times the chance that a change
// survives: its first ages one by one, and then blocks, each as long as all
// before it, by three points of Gauss and Legendre. Between whole numbers a sum
// from a to b-1 is taken for the integral from a-1/2 to b-1/2.
type ages struct {
	urgency freshet.Decay
	first   []float64 // the urgency at 0, 1, 2 ...
	blocks  []ageBlock
	until   float64 // where the blocks end
}

// An ageBlock is the ages from one up to below another.
type ageBlock struct {
	from, to float64
	worth    [3]float64 // of the urgency at the points, times their weights
	before   float64    // the urgency summed over all ages before
}

// How many ages are summed one by one: of a table, which may fall in steps, more
// than of a smooth urgency; and how far blocks go.
const (
	smoothAges = 8
	tableAges  = 64
	mostAges   = 1 << 24
)

// The points of Gauss and Legendre between 0 and 1, and their weights.
var (
	gaussPoints  = [3]float64{0.5 - 0.3872983346207417, 0.5, 0.5 + 0.3872983346207417}
	gaussWeights = [3]float64{5.0 / 18, 8.0 / 18, 5.0 / 18}
)

// newAges lays out an urgency up to an age.
func newAges(u freshet.Decay, keep float64) *ages {
	a := &ages{urgency: u}
	n := smoothAges
	if u.Kind == freshet.UrgencyTable {
		n = tableAges
	}
	keep = min(keep, mostAges)
	sum := 0.0
	for s := range min(n, int(keep)) {
		a.first = append(a.first, u.At(float64(s)))
		sum += a.first[s]
	}
	a.until = float64(len(a.first))
	for a.until < keep {
		b := ageBlock{from: a.until, to: min(2*a.until, keep), before: sum}
		for i := range gaussPoints {
			b.worth[i] = u.At(b.point(i)) * gaussWeights[i] * (b.to - b.from)
			sum += b.worth[i]
		}
		a.blocks = append(a.blocks, b)
		a.until = b.to
	}
	return a
}

// point returns where one of a block's points lies.
func (b *ageBlock) point(i int) float64 { return b.from - 0.5 + (b.to-b.from)*gaussPoints[i] }

// sum returns the sum over the ages below tau, and what comes next, of the
// urgency times the chance that fewer than last changes come after, when they
// come at a rate.
func (a *ages) sum(last int, rate, tau float64) (sum, next float64) {
	tau = min(tau, a.until)
	next = a.urgency.At(tau) * survival(last, rate, tau)
	if last == 0 {
		return a.plain(tau), next
	}
	for s, worth := range a.first {
		if left := tau - float64(s); left < 1 {
			return sum + max(0, left)*worth*survival(last, rate, float64(s)), next
		}
		sum += worth * survival(last, rate, float64(s))
	}
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.to > tau {
			b := ageBlock{from: b.from, to: tau}
			for i, weight := range gaussWeights {
				t := b.point(i)
				sum += a.urgency.At(t) * survival(last, rate, t) * weight * (b.to - b.from)
			}
			return sum, next
		}
		stays := survival(last, rate, b.from)
		if stays < 1e-9 {
			break
		}
		for i, worth := range b.worth {
			sum += worth * survival(last, rate, b.point(i))
		}
	}
	return sum, next
}

// plain is the sum where all changes survive.
func (a *ages) plain(tau float64) (sum float64) {
	if tau < float64(len(a.first)) || len(a.blocks) == 0 {
		for s, worth := range a.first {
			sum += worth * max(0, min(1, tau-float64(s)))
		}
		return sum
	}
	at := math.Ilogb(tau / float64(len(a.first))) // blocks double
	b := a.blocks[min(at, len(a.blocks)-1)]
	sum, b.to = b.before, tau
	for i, weight := range gaussWeights {
		sum += a.urgency.At(b.point(i)) * weight * (b.to - b.from)
	}
	return sum
}

// survival returns the chance that fewer than last changes come in t instants,
// at a rate.
func survival(last int, rate, t float64) float64 {
	switch {
	case last == 0 || t <= 0:
		return 1
	case last == 1:
		return math.Exp(-rate * t)
	}
	_, room := atMost(last, rate*t, t)
	return room
}
