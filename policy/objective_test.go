package policy_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/policy"
)

// Five sources change one to five times a day, and there are five polls a day.
// To be fresh most of the time it is best to give up the quickest; to capture
// most changes, to poll it most.
func ExampleObjective_Allocate() {
	rates, weights := []float64{1, 2, 3, 4, 5}, []float64{1, 1, 1, 1, 1}
	fmt.Printf("freshness %.2f\n", policy.Freshness.Allocate(rates, weights, 5))
	fmt.Printf("age       %.2f\n", policy.Age.Allocate(rates, weights, 5))
	fmt.Printf("recall    %.2f\n", policy.Recall.Allocate(rates, weights, 5))
	// Output:
	// freshness [1.15 1.36 1.35 1.14 0.00]
	// age       [0.83 0.97 1.03 1.07 1.09]
	// recall    [0.33 0.67 1.00 1.33 1.67]
}

// value is what an objective is about, as a function of frequencies; more is
// better.
func value(o policy.Objective, rate, weight, f float64) float64 {
	switch o {
	case policy.Freshness:
		return weight * policy.ExpectedFreshness(rate, f)
	case policy.Age:
		// The mean over a gap of the time since the first unseen change.
		gap := 1 / f
		x := rate * gap
		return -weight * gap * (0.5 - 1/x - math.Expm1(-x)/(x*x))
	case policy.Harmonic:
		return -weight * math.Log((f+rate)/f)
	case policy.Binary:
		return weight * f / (f + rate)
	case policy.Delay:
		return -weight * rate / (2 * f)
	}
	return weight * rate * policy.ExpectedFreshness(rate, f)
}

// The frequencies add up to the budget, and moving a little of it from one
// source to another makes nothing better.
func TestAllocationsAreOptimal(t *testing.T) {
	objectives := []policy.Objective{policy.Recall, policy.Freshness, policy.Age, policy.Harmonic, policy.Binary, policy.Delay}
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(objectives).Draw(t, "objective")
		n := rapid.IntRange(1, 6).Draw(t, "sources")
		rates, weights := make([]float64, n), make([]float64, n)
		for i := range n {
			rates[i] = rapid.Float64Range(0.01, 20).Draw(t, "rate")
			weights[i] = rapid.Float64Range(0.1, 5).Draw(t, "weight")
		}
		budget := rapid.Float64Range(0.05, 50).Draw(t, "budget")
		f := o.Allocate(rates, weights, budget)
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

// No host gets more than its cap, and what it may not have goes to the others.
func TestPoliteAllocationsKeepToTheCaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "sources")
		rates, weights, hosts := make([]float64, n), make([]float64, n), make([]int, n)
		for i := range n {
			rates[i] = rapid.Float64Range(0.1, 5).Draw(t, "rate")
			weights[i] = 1
			hosts[i] = i % 2
		}
		caps := []float64{rapid.Float64Range(0.1, 4).Draw(t, "cap"), 1e6}
		budget := rapid.Float64Range(0.2, 8).Draw(t, "budget")
		f := policy.Freshness.AllocatePolite(rates, weights, hosts, caps, budget)
		sums := []float64{0, 0}
		for i, h := range hosts {
			sums[h] += f[i]
		}
		if sums[0] > caps[0]*(1+1e-6) {
			t.Errorf("a host gets %v, want at most %v", sums[0], caps[0])
		}
		if math.Abs(total(f)-budget) > 1e-6*budget {
			t.Errorf("frequencies add up to %v, want %v", total(f), budget)
		}
	})
}

func TestAllocationOfWhatNeverChanges(t *testing.T) {
	for _, o := range []policy.Objective{policy.Recall, policy.Freshness, policy.Age, policy.Harmonic, policy.Binary, policy.Delay} {
		if f := o.Allocate([]float64{0, 1}, []float64{1, 1}, 2); f[0] != 0 || math.Abs(f[1]-2) > 1e-9 {
			t.Errorf("objective %d: frequencies %v, want all for the one that changes", o, f)
		}
		if f := o.Allocate([]float64{0, 0}, []float64{1, 1}, 2); f[0] != 0 || f[1] != 0 {
			t.Errorf("objective %d: frequencies %v, want none where nothing changes", o, f)
		}
	}
}

// The rate from irregular polls is near the likeliest one, and the more polls
// there are, the less what sources do in general counts.
func TestRateFromIrregularPolls(t *testing.T) {
	// The likeliest rates by the condition of Cho and Garcia-Molina.
	cases := []struct {
		changed, same []float64
		rate          float64
	}{
		{[]float64{1, 2, 4}, []float64{1, 1, 3}, 0.3821},
		{[]float64{0.5}, []float64{10}, 0.0976},
	}
	for _, c := range cases {
		e := policy.Evidence{Changes: float64(len(c.changed)), Changed: total(c.changed), Same: total(c.same)}
		if got := e.Rate(); math.Abs(got-c.rate) > 0.15*c.rate {
			t.Errorf("rate %v, want near %v", got, c.rate)
		}
	}
	few := policy.Evidence{Changes: 2, Changed: 2, Same: 18}
	many := policy.Evidence{Changes: 200, Changed: 200, Same: 1800}
	near := func(e policy.Evidence) float64 { return math.Abs(e.Shrunk(3, 0.5)/e.Rate() - 1) }
	if near(many) > near(few)/10 {
		t.Errorf("a rate known well is off by %v, and one known badly by %v", near(many), near(few))
	}
	quiet := policy.Evidence{Same: 10}
	if a, b := quiet.Shrunk(1, 0.5), (policy.Evidence{Same: 100}).Shrunk(1, 0.5); !(a > b && b > 0) {
		t.Errorf("rates %v and %v of sources never seen to change, want them to fall but stay above 0", a, b)
	}
}
