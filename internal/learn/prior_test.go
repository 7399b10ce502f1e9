package learn_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/learn"
)

// spike returns a spread of so many sources that all have the same rate.
func spike(at int, sources float64) []float64 {
	q := make([]float64, learn.Points)
	q[at] = sources
	return q
}

// Before any poll the rate is taken to be about exponentially distributed, and
// hence on a scale of logarithms with a weight of x*e^-x, and a little more.
func TestPriorBeforeAnyPoll(t *testing.T) {
	rates := learn.NewClock(monday, time.Minute).Grid()
	for _, every := range []float64{1, 200, 1e5} {
		want := make([]float64, len(rates))
		for i, rate := range rates {
			want[i] = rate*every*math.Exp(-rate*every) + 0.002
		}
		want = normal(want)
		for i, got := range learn.NewPrior(rates, every) {
			if math.Abs(got/want[i]-1) > 1e-9 {
				t.Errorf("a change in %v ticks: the chance of rate %d is %v, want %v", every, i, got, want[i])
			}
		}
	}
}

// What nine sources do and what their parent thinks, which counts for three, is
// the prior of the tenth. Each source is blurred by a step of the grid.
func TestPriorOfAPool(t *testing.T) {
	const nine, three = 9.0 / 12, 3.0 / 12
	for _, c := range []struct {
		what   string
		sum    []float64
		parent int
		want   map[int]float64
	}{
		{"in the middle", spike(10, 9), 20, map[int]float64{9: nine / 4, 10: nine / 2, 11: nine / 4, 20: three}},
		{"at the slow end", spike(0, 9), 20, map[int]float64{0: nine * 3 / 4, 1: nine / 4, 20: three}},
		{"at the fast end", spike(learn.Points-1, 9), 5, map[int]float64{learn.Points - 1: nine * 3 / 4, learn.Points - 2: nine / 4, 5: three}},
		{"like the parent", spike(10, 9), 10, map[int]float64{9: nine / 4, 10: nine/2 + three, 11: nine / 4}},
		{"none seen yet", spike(10, 0), 7, map[int]float64{7: 1}},
	} {
		t.Run(c.what, func(t *testing.T) {
			for i, got := range learn.PoolPrior(c.sum, spike(c.parent, 1), 9) {
				if math.Abs(got-c.want[i]) > 1e-12 {
					t.Errorf("the chance of rate %d is %v, want %v", i, got, c.want[i])
				}
			}
		})
	}
}

// All sources together have no parent. Each rate gets a little on top, so that
// none is ever ruled out, and a little more where there are many sources.
func TestPriorOfAllSources(t *testing.T) {
	for _, pages := range []int{0, 1, 24_000} {
		extra := 0.05 + 0.001*float64(pages)/learn.Points
		whole := float64(pages) + learn.Points*extra
		for i, got := range learn.PoolPrior(spike(10, float64(pages)), nil, pages) {
			want := extra / whole
			switch i {
			case 9, 11:
				want += float64(pages) / 4 / whole
			case 10:
				want += float64(pages) / 2 / whole
			}
			if math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%d sources: the chance of rate %d is %v, want %v", pages, i, got, want)
			}
		}
	}
}

// Every prior is a distribution that rules no rate out.
func TestPriorsAreDistributions(t *testing.T) {
	rates := learn.NewClock(monday, time.Minute).Grid()
	rapid.Check(t, func(rt *rapid.T) {
		first := learn.NewPrior(rates, math.Exp(rapid.Float64Range(-5, 20).Draw(rt, "every")))
		sum := rapid.SliceOfN(rapid.Float64Range(0, 1e6), learn.Points, learn.Points).Draw(rt, "sum")
		all := learn.PoolPrior(sum, nil, rapid.IntRange(0, 1e6).Draw(rt, "pages"))
		for what, prior := range map[string][]float64{"before any poll": first, "of all": all, "of a pool": learn.PoolPrior(sum, all, 1)} {
			whole := 0.0
			for i, w := range prior {
				if !(w > 0) {
					rt.Fatalf("the prior %s gives rate %d the chance %v", what, i, w)
				}
				whole += w
			}
			if math.Abs(whole-1) > 1e-9 {
				rt.Fatalf("the prior %s adds up to %v", what, whole)
			}
		}
	})
}
