package policy_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sched/policy"
)

// Five sources change one to five times a day, and there are five polls a day.
// To be fresh most of the time it is best to give up the quickest; to capture
// most changes, to poll it most.
func ExampleObjective() {
	rates, weights := []float64{1, 2, 3, 4, 5}, []float64{1, 1, 1, 1, 1}
	fmt.Printf("freshness %.2f\n", allocate(policy.Freshness, rates, weights, 5))
	fmt.Printf("age       %.2f\n", allocate(policy.Age, rates, weights, 5))
	fmt.Printf("recall    %.2f\n", allocate(policy.Recall, rates, weights, 5))
	// Output:
	// freshness [1.15 1.36 1.35 1.14 0.00]
	// age       [0.83 0.97 1.03 1.07 1.09]
	// recall    [0.33 0.67 1.00 1.33 1.67]
}

// allocate returns the frequencies of an objective at the price at which they add
// up to the budget. A source that is all but given up may want nothing at that
// price and much at the next smaller number; then it gets what is over.
func allocate(o policy.Objective, rates, weights []float64, budget float64) []float64 {
	at := func(price float64) []float64 {
		f := make([]float64, len(rates))
		for i, rate := range rates {
			f[i] = o.At(rate, weights[i], price)
		}
		return f
	}
	low, high := -100.0, 100.0 // logarithms of the price
	for range 100 {
		if mid := (low + high) / 2; total(at(math.Exp(mid))) > budget {
			low = mid
		} else {
			high = mid
		}
	}
	f, more := at(math.Exp(high)), at(math.Exp(low))
	if extra := total(more) - total(f); extra > 0 {
		part := min(1, (budget-total(f))/extra)
		for i := range f {
			f[i] += part * (more[i] - f[i])
		}
	}
	return f
}

// expectedFreshness is the share of time in which a source that changes at random
// at a rate is up to date when it is polled evenly at a frequency; it is the
// share of its changes that are captured, too.
func expectedFreshness(rate, frequency float64) float64 {
	switch {
	case rate <= 0:
		return 1
	case frequency <= 0:
		return 0
	}
	return -math.Expm1(-rate/frequency) * frequency / rate
}

// value is what an objective is about, as a function of frequencies; more is
// better.
func value(o policy.Objective, rate, weight, f float64) float64 {
	switch o {
	case policy.Freshness:
		return weight * expectedFreshness(rate, f)
	case policy.Age:
		// The mean over a gap of the time since the first unseen change.
		gap := 1 / f
		x := rate * gap
		return -weight * gap * (0.5 - 1/x - math.Expm1(-x)/(x*x))
	}
	return weight * rate * expectedFreshness(rate, f)
}

// The frequencies add up to the budget, and moving a little of it from one
// source to another makes nothing better.
func TestAllocationsAreOptimal(t *testing.T) {
	objectives := []policy.Objective{policy.Recall, policy.Freshness, policy.Age}
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(objectives).Draw(t, "objective")
		n := rapid.IntRange(1, 6).Draw(t, "sources")
		rates, weights := make([]float64, n), make([]float64, n)
		for i := range n {
			rates[i] = rapid.Float64Range(0.01, 20).Draw(t, "rate")
			weights[i] = rapid.Float64Range(0.1, 5).Draw(t, "weight")
		}
		budget := rapid.Float64Range(0.05, 50).Draw(t, "budget")
		f := allocate(o, rates, weights, budget)
		if math.Abs(total(f)-budget) > 1e-7*budget {
			t.Fatalf("frequencies %v add up to %v, want %v", f, total(f), budget)
		}
		const bit = 1e-3
		for i := range n {
			for j := range n {
				d := bit * f[i]
				if i == j || d < 1e-6*budget {
					continue
				}
				now := value(o, rates[i], weights[i], f[i]) + value(o, rates[j], weights[j], f[j])
				moved := value(o, rates[i], weights[i], f[i]-d) + value(o, rates[j], weights[j], f[j]+d)
				if moved > now+1e-9*(1+math.Abs(now)) {
					t.Fatalf("objective %d: moving %v from source %d to %d brings %v, more than %v", o, d, i, j, moved, now)
				}
			}
		}
	})
}

func TestAllocationOfWhatNeverChanges(t *testing.T) {
	for _, o := range []policy.Objective{policy.Recall, policy.Freshness, policy.Age} {
		if f := allocate(o, []float64{0, 1}, []float64{1, 1}, 2); f[0] != 0 || math.Abs(f[1]-2) > 1e-9 {
			t.Errorf("objective %d: frequencies %v, want all for the one that changes", o, f)
		}
		if f := allocate(o, []float64{0, 0}, []float64{1, 1}, 2); f[0] != 0 || f[1] != 0 {
			t.Errorf("objective %d: frequencies %v, want none where nothing changes", o, f)
		}
	}
}
