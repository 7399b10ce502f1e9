package estimate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/learn/estimate"
)

// The rate from looks at regular times is that of Cho and Garcia-Molina, with its
// bias taken away, and so is the likeliest one.
func TestRegularLooks(t *testing.T) {
	var regular struct {
		Rows []struct {
			X, N      int
			I         float64
			Corrected float64 `json:"bias_corrected"`
		}
	}
	tol := oracle(t, "D03", &struct{}{}, &regular)
	if len(regular.Rows) < 3 {
		t.Fatalf("%d rows, want more", len(regular.Rows))
	}
	for _, row := range regular.Rows {
		looks := estimate.RegularLooks(float64(row.X), float64(row.N), row.I)
		if got := looks.Rate(); got < 0 || !(math.Abs(got-row.Corrected) <= tol) {
			t.Errorf("%d changes in %d looks: rate %v, want %v", row.X, row.N, got, row.Corrected)
		}
		var one estimate.Looks
		var changed []float64
		for i := range row.N {
			one.See(row.I, i < row.X)
			if i < row.X {
				changed = append(changed, row.I)
			}
		}
		if got := one.Rate(); !(math.Abs(got-row.Corrected) <= tol) {
			t.Errorf("%d changes in %d looks, one by one: rate %v, want %v", row.X, row.N, got, row.Corrected)
		}
		if got := estimate.Likeliest(changed, float64(row.N-row.X)*row.I); !(math.Abs(got-row.Corrected) <= tol) {
			t.Errorf("%d changes in %d looks: likeliest rate %v, want %v", row.X, row.N, got, row.Corrected)
		}
	}
}

// The likeliest rate of looks at odd times, without the half of an interval that
// takes its bias away.
func TestLikeliestOracle(t *testing.T) {
	var in struct{ Instances [][2][]float64 }
	var want struct{ Lam []float64 }
	tol := oracle(t, "D04", &in, &want)
	for i, rate := range want.Lam {
		changed, unchanged := in.Instances[i][0], in.Instances[i][1]
		half := sum(changed) / float64(len(changed)) / 2
		if got := estimate.Likeliest(changed, sum(unchanged)-half); !(math.Abs(got-rate) <= tol) {
			t.Errorf("%v: rate %v, want %v", in.Instances[i], got, rate)
		}
	}
}

// The likeliest rate is where the pull of both kinds of interval is equal,
// however odd the intervals.
func TestLikeliestIsTheRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Float64Range(1e-3, 1e6)
		changed := rapid.SliceOfN(length, 1, 8).Draw(t, "changed")
		still := rapid.Float64Range(0, 1e6).Draw(t, "still")
		rate := estimate.Likeliest(changed, still)
		still += sum(changed) / float64(len(changed)) / 2
		pull := 0.0
		for _, d := range changed {
			pull += d / math.Expm1(rate*d)
		}
		if !(rate > 0) || math.Abs(pull-still) > 1e-6*still {
			t.Errorf("at rate %v the pulls are %v and %v", rate, pull, still)
		}
	})
}

// Looks at several sources add up.
func TestLooksAddUp(t *testing.T) {
	all := estimate.Looks{Changes: 1, Changed: 2, Same: 3}
	all.Add(estimate.Looks{Changes: 10, Changed: 20, Same: 30})
	if want := (estimate.Looks{Changes: 11, Changed: 22, Same: 33}); all != want {
		t.Errorf("both together are %+v, want %+v", all, want)
	}
}

func TestLikeliestOfNothing(t *testing.T) {
	if got := estimate.Likeliest[float32](nil, 10); got != 0 {
		t.Errorf("a source that was never found changed has the likeliest rate %v, want 0", got)
	}
	if got := (estimate.Looks{Same: 10}).Rate(); got != 0 {
		t.Errorf("a source that was never found changed has the rate %v, want 0", got)
	}
}

// Given that there was one, more than one change is expected, and as many as
// otherwise where there are many.
func TestIfAny(t *testing.T) {
	for x, want := range map[float64]float64{0: 1, 1e-12: 1, 1e-7: 1 + 0.5e-7, 1: 1 / (1 - 1/math.E), 50: 50} {
		if got := estimate.IfAny(x); math.Abs(got-want) > 1e-12*want {
			t.Errorf("%v of %v changes are expected, want %v", got, x, want)
		}
	}
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

// The rate from irregular polls is near the likeliest one, and the more polls
// there are, the less what sources do in general counts.
func TestLooksAtOddTimes(t *testing.T) {
	// The likeliest rates by the condition of Cho and Garcia-Molina.
	cases := []struct {
		changed, same []float64
		rate          float64
	}{
		{[]float64{1, 2, 4}, []float64{1, 1, 3}, 0.3821},
		{[]float64{0.5}, []float64{10}, 0.0976},
	}
	for _, c := range cases {
		e := estimate.Looks{Changes: float64(len(c.changed)), Changed: sum(c.changed), Same: sum(c.same)}
		if got := e.Rate(); math.Abs(got-c.rate) > 0.15*c.rate {
			t.Errorf("rate %v, want near %v", got, c.rate)
		}
	}
	few := estimate.Looks{Changes: 2, Changed: 2, Same: 18}
	many := estimate.Looks{Changes: 200, Changed: 200, Same: 1800}
	near := func(e estimate.Looks) float64 { return math.Abs(e.Shrunk(3, 0.5)/e.Rate() - 1) }
	if near(many) > near(few)/10 {
		t.Errorf("a rate known well is off by %v, and one known badly by %v", near(many), near(few))
	}
	quiet := estimate.Looks{Same: 10}
	if a, b := quiet.Shrunk(1, 0.5), (estimate.Looks{Same: 100}).Shrunk(1, 0.5); !(a > b && b > 0) {
		t.Errorf("rates %v and %v of sources never seen to change, want them to fall but stay above 0", a, b)
	}
}
