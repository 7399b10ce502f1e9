package policy

import "math"

// An exponential is weight * decay^t.
type exponential struct{ weight, decay float64 }

// The urgency (1+t)^-a, with t in units, falls too slowly to be cut off and has
// no step. Up to polyAges instants it is summed as it stands; for longer gaps it
// is a sum of exponentials,
//
//	(1+t)^-a = 1/Gamma(a) * integral of e^(a*x - (1+t)*e^x) dx,
//
// by the trapezoid rule. The relative error is below a millionth up to
// polyHorizon instants, after which the worth of a change ceases to fall. Where
// a is at least steepPoly, a change that is maxPolyTable units old is worth less
// than a billionth; if an instant is a unit or more, it counts for nothing.
const (
	polyAges     = 32
	polyHorizon  = 1 << 17
	maxPolyTable = 256
	steepPoly    = 3.75
)

// polyTail returns the exponentials for ages from polyAges on, with weights as
// of that age. An instant has so many units.
func polyTail(a, units float64) []exponential {
	// The error of the rule falls as e^(-pi^2/h), and grows with a.
	h, most := 0.5, 40.0
	switch {
	case a >= steepPoly: // the integrand is a bell of width 1/sqrt(a) about log(a)
		h, most = min(0.3, 1/math.Sqrt(a)), 40+3*a
	case a > 1:
		h = 0.3
	}
	// Below low the integrand does not decay within the horizon: what is
	// there is a geometric series of constants.
	low := -math.Log(max(1, polyHorizon*units)) - 15/(1+a)
	high := math.Log(most / (polyAges*units + 1))
	terms := exponentials(a, h, low, high)
	rest := h * math.Exp(a*(low-h)) / (1 - math.Exp(-a*h)) / math.Gamma(a)
	terms = append(terms, exponential{weight: rest, decay: 1})
	for i := range terms {
		terms[i].decay = math.Pow(terms[i].decay, units)
		terms[i].weight *= math.Pow(terms[i].decay, polyAges)
	}
	return terms
}

// exponentials returns the terms of the trapezoid rule for (1+t)^-a with
// steps of h from low to high.
func exponentials(a, h, low, high float64) (terms []exponential) {
	for i := 0; ; i++ {
		x := low + float64(i)*h
		if x > high+1e-9 {
			return terms
		}
		s := math.Exp(x)
		terms = append(terms, exponential{
			weight: h * math.Exp(a*x-s) / math.Gamma(a),
			decay:  math.Exp(-s),
		})
	}
}
