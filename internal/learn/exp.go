package learn

import "math"

// expSteps is into how many steps a doubling is divided by the table below.
const expSteps = 32

// expTable holds 2^(i/expSteps).
var expTable = func() (t [expSteps]float64) {
	for i := range t {
		t[i] = math.Exp2(float64(i) / expSteps)
	}
	return t
}()

// exp returns e^x for x up to 0, to nine digits. What is thought of a source is
// worked out from two dozen of these, millions of times, and math.Exp took most
// of that.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	n := int64(math.Floor(x * (expSteps / math.Ln2)))
	r := x - float64(n)*(math.Ln2/expSteps)
	p := 1 + r*(1+r*(0.5+r*(1.0/6+r*(1.0/24))))
	return p * expTable[n&(expSteps-1)] * math.Float64frombits(uint64(n>>5+1023)<<52)
}
