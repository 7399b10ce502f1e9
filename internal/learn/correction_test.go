package learn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/learn"
)

// The features of a correction, in their order.
const (
	always = iota
	everywhere
	onSite
	profileOfSite
	profileOfPage
)

// At first what goes on counts by half, on the scale of the logarithm, and what
// is expected is right as it is.
func TestCorrectionAtFirst(t *testing.T) {
	c := learn.NewCorrection()
	for _, tt := range []struct {
		what string
		f    [5]float64
		want float64
	}{
		{"nothing special", [5]float64{always: 1}, 0},
		{"four times as busy everywhere", [5]float64{always: 1, everywhere: math.Log(4)}, math.Log(2)},
		{"nine times as busy on the site", [5]float64{always: 1, onSite: math.Log(9)}, math.Log(3)},
		{"a busy hour", [5]float64{always: 1, profileOfSite: 3, profileOfPage: -2}, 0},
		{"beyond all measure", [5]float64{always: 1, everywhere: 100}, 6},
		{"dead silence", [5]float64{always: 1, everywhere: -100}, -6},
	} {
		if got := c.Log(tt.f); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: the logarithm of the correction is %v, want %v", tt.what, got, tt.want)
		}
		want := math.Log(2) * math.Exp(tt.want) // half a chance is ln 2 changes
		if tt.want > 5 || tt.want < -5 {
			want = math.Exp(max(-12, min(2.5, tt.f[everywhere]/2+math.Log(math.Log(2)))))
		}
		if got := c.Expect(tt.f, 0.5); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%s: %v changes are expected, want %v", tt.what, got, want)
		}
	}
}

// One step by hand: a poll that was expected to find ln 2 changes, as likely as
// not, tells of a weight w by f*ln 2 if it finds one, and by -f*ln 2 if not, with
// the information (f*ln 2)^2. A weight is known to 0.2 before.
func TestCorrectionByHand(t *testing.T) {
	for _, changed := range []bool{true, false} {
		c := learn.NewCorrection()
		f := [5]float64{always: 1, profileOfSite: -2}
		c.Learn(f, math.Ln2, changed)
		slope, information := math.Ln2, math.Ln2*math.Ln2
		if !changed {
			slope = -slope
		}
		shrink := 1 / (1 + information*0.04*(1+4))
		weights, doubts := c.Weights()
		for i, x := range f {
			start := 0.0
			if i == everywhere || i == onSite {
				start = 0.5
			}
			if want := start + 0.04*x*slope*shrink; math.Abs(weights[i]-want) > 1e-12 {
				t.Errorf("changed %v: weight %d is %v, want %v", changed, i, weights[i], want)
			}
			if want := 0.04 - information*shrink*0.04*0.04*x*x; math.Abs(doubts[i]-want) > 1e-12 {
				t.Errorf("changed %v: weight %d has the variance %v, want %v", changed, i, doubts[i], want)
			}
		}
	}
}

// Evidence finds the weights: where expectations are too low throughout, they
// are raised, and a profile that means nothing is switched off.
func TestCorrectionFindsTheTruth(t *testing.T) {
	for _, tt := range []struct {
		what  string
		truth [5]float64
	}{
		{"twice as much comes as expected", [5]float64{always: math.Ln2, everywhere: 0.5, onSite: 0.5}},
		{"what goes on elsewhere means nothing", [5]float64{onSite: 0.5}},
		{"the profile of the site means nothing", [5]float64{everywhere: 0.5, onSite: 0.5, profileOfSite: -1}},
		{"the profile of the page means nothing", [5]float64{everywhere: 0.5, onSite: 0.5, profileOfPage: -1}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(1, 2))
			c := learn.NewCorrection()
			for range 20_000 {
				f := [5]float64{always: 1}
				for i := everywhere; i < learn.Features; i++ {
					f[i] = draw.NormFloat64() / 2
				}
				chance := 0.1 + 0.5*draw.Float64()
				real := -math.Log1p(-chance)
				for i, w := range tt.truth {
					real *= math.Exp(w * f[i])
				}
				c.Learn(f, c.Expect(f, chance), draw.Float64() < chanceOf(real))
			}
			weights, doubts := c.Weights()
			for i, want := range tt.truth {
				if math.Abs(weights[i]-want) > 0.1 {
					t.Errorf("weight %d is %.3f, want %.3f", i, weights[i], want)
				}
				if doubts[i] > 0.001 {
					t.Errorf("after twenty thousand polls weight %d is known to %.3f only", i, math.Sqrt(doubts[i]))
				}
			}
		})
	}
}

// Whatever polls find, no weight becomes less certain, none stops being a number,
// and expectations stay within their bounds.
func TestCorrectionStaysSane(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := learn.NewCorrection()
		_, before := c.Weights()
		for range rapid.IntRange(1, 60).Draw(rt, "polls") {
			var f [5]float64
			for i := range f {
				f[i] = rapid.Float64Range(-8, 8).Draw(rt, "feature")
			}
			expected := c.Expect(f, rapid.Float64Range(1e-9, 1-1e-9).Draw(rt, "chance"))
			if !(expected >= math.Exp(-12)) || expected > math.Exp(2.5)*(1+1e-12) {
				rt.Fatalf("%v changes are expected", expected)
			}
			c.Learn(f, expected, rapid.Bool().Draw(rt, "changed"))
			weights, after := c.Weights()
			for i := range after {
				if !(after[i] >= 0) || after[i] > before[i]*(1+1e-9) || math.IsNaN(weights[i]) {
					rt.Fatalf("weight %d is %v, and its variance goes from %v to %v", i, weights[i], before[i], after[i])
				}
			}
			before = after
		}
	})
}
