package policy_test

import (
	"math"
	"testing"

	"freshet/internal/sched/policy"
)

// An index is tau*c(tau) less all costs before, whatever the cost.
func TestIndexesOfAims(t *testing.T) {
	stale := func(rate, s float64) float64 { return -math.Expm1(-rate * s) }
	aged := func(rate, s float64) float64 { // at the beginning of an instant, and half of it more
		age, none := 0.0, 1.0
		for k := 1.0; k <= s; k++ {
			age += (s - k) * none * -math.Expm1(-rate)
			none *= math.Exp(-rate)
		}
		return age + stale(rate, s)/2
	}
	for _, tt := range []struct {
		name   string
		index  func(rate, tau float64) float64
		cost   func(rate, s float64) float64
		within float64
	}{
		{"freshness", policy.FreshIndex, stale, 1e-4},
		{"age", policy.AgeIndex, aged, 1e-3},
	} {
		for _, rate := range []float64{1e-7, 1e-5, 2e-4, 0.01, 0.25, 1, 4} {
			before := 0.0
			for _, tau := range []float64{1, 2, 3, 4, 20, 100, 1000} {
				want := tau * tt.cost(rate, tau)
				for s := 1.0; s < tau; s++ {
					want -= tt.cost(rate, s)
				}
				got := tt.index(rate, tau)
				if math.Abs(got-want) > tt.within*math.Abs(want)+1e-12 {
					t.Errorf("%s at %v after %v: %v, want %v", tt.name, rate, tau, got, want)
				}
				if got < before*(1-1e-6) {
					t.Errorf("%s at %v falls to %v after %v", tt.name, rate, got, tau)
				}
				before = got
			}
		}
	}
}

// The mean age between polls is the mean of what is expected at each moment.
func TestMeanAge(t *testing.T) {
	for _, rate := range []float64{1e-6, 1e-3, 0.1, 3} {
		for _, tau := range []float64{0.5, 7, 400} {
			const steps = 20_000
			sum := 0.0
			for i := range steps {
				sum += policy.ExpectedAge(rate, tau*(float64(i)+0.5)/steps) / steps
			}
			if got := policy.MeanOfAge(rate, tau); math.Abs(got-sum) > 1e-3*sum {
				t.Errorf("at %v, %v apart: %v, want %v", rate, tau, got, sum)
			}
		}
	}
}
