package rootfind_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sched/rootfind"
)

// A falling function's zero is found, however it bends.
func TestOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zero := rapid.Float64Range(-5, 5).Draw(t, "zero")
		bend := rapid.Float64Range(0.2, 4).Draw(t, "bend")
		calls := 0
		f := func(x float64) float64 {
			calls++
			return math.Expm1(bend * (zero - x))
		}
		lo, hi := zero-rapid.Float64Range(0.1, 5).Draw(t, "left"), zero+rapid.Float64Range(0.1, 5).Draw(t, "right")
		from, to := rootfind.Falling(f, lo, hi, f(lo), f(hi), 1e-12)
		if from != to || math.Abs(from-zero) > 1e-9 {
			t.Errorf("passes zero between %v and %v, want at %v", from, to, zero)
		}
		if calls > 100 {
			t.Errorf("%d calls", calls)
		}
	})
}

// Where there is a jump, or no end on one side, what is left is a hair's breadth.
func TestOfAJump(t *testing.T) {
	for name, f := range map[string]func(float64) float64{
		"jump": func(x float64) float64 { return math.Copysign(1, 0.3-x) },
		"none": func(x float64) float64 {
			if x < 0.3 {
				return math.Inf(1)
			}
			return -1
		},
	} {
		from, to := rootfind.Falling(f, 0, 1, f(0), f(1), 1e-12)
		if from > 0.3 || to < 0.3 || to-from > 1e-12 {
			t.Errorf("%s: between %v and %v, want both sides of 0.3", name, from, to)
		}
	}
}
