package learn_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

func TestShare(t *testing.T) {
	all := outlook.Range{Mean: 1, Low: 1, High: 1}
	cases := []struct {
		what  string
		tally outlook.Tally
		want  outlook.Range
	}{
		{"nothing happened", outlook.Tally{}, all},
		{"more was captured than is thought to have happened", outlook.Tally{Captured: 5, Happened: 4.5, Variance: 1}, all},
		{"nothing was captured", outlook.Tally{Happened: 3, Variance: 1}, outlook.Range{}},
		// The model alone is off by 0.4 on the scale of the logarithm: ten
		// missed are nine times in ten 10*e^(-0.08±1.6449*0.4) = 4.78 to 17.82.
		{"some were missed", outlook.Tally{Captured: 30, Happened: 40}, outlook.Range{Mean: 0.75, Low: 30 / 47.8243, High: 30 / 34.7812}},
		// By chance there may be 10±10: log1p(1) more in the square of the spread.
		{"some were missed, and by chance", outlook.Tally{Captured: 30, Happened: 40, Variance: 100}, outlook.Range{Mean: 0.75, Low: 0.50148, High: 0.95454}},
		{"some were missed, and rates may be off", outlook.Tally{Captured: 30, Happened: 40, Doubt: 10}, outlook.Range{Mean: 0.75, Low: 0.50148, High: 0.95454}},
		// Half of the polls found a change: the model is off by 0.49375.
		{"every other poll found a change", outlook.Tally{Polls: 60, Captured: 30, Happened: 40}, outlook.Range{Mean: 0.75, Low: 0.60069, High: 0.88418}},
		// Every poll found a change: the model is off by 1.9.
		{"every poll found a change", outlook.Tally{Polls: 30, Captured: 30, Happened: 40}, outlook.Range{Mean: 0.75, Low: 0.44482, High: 0.99760}},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			got := learn.Share(c.tally)
			for what, pair := range map[string][2]float64{"mean": {got.Mean, c.want.Mean}, "low": {got.Low, c.want.Low}, "high": {got.High, c.want.High}} {
				if !(math.Abs(pair[0]-pair[1]) <= 1e-4) {
					t.Errorf("the %s is %.5f, want %.5f", what, pair[0], pair[1])
				}
			}
		})
	}
}

// The bounds hold the mean, stay between nothing and all, and grow with doubt.
func TestShareBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		captured := rapid.Float64Range(0, 1e6).Draw(rt, "captured")
		tally := outlook.Tally{
			Captured: captured, Happened: captured + rapid.Float64Range(1e-6, 1e6).Draw(rt, "missed"),
			Variance: math.Exp(rapid.Float64Range(-10, 20).Draw(rt, "variance")),
		}
		s := learn.Share(tally)
		if !(0 <= s.Low && s.Low <= s.High && s.High <= 1) || s.Mean < 0 || s.Mean > 1 {
			rt.Fatalf("the share of %+v is %+v", tally, s)
		}
		surer := tally
		surer.Variance /= 4
		if u := learn.Share(surer); u.High-u.Low > s.High-s.Low+1e-9 && s.Low > 0.01 && s.High < 0.99 {
			rt.Fatalf("with less doubt the bounds grow from %+v to %+v", s, u)
		}
	})
}

// The more was captured of what happened, the higher is the share, and tallies
// with the same in them several times over have the same share.
func TestShareGrowsWithWhatWasCaptured(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tally := outlook.Tally{Happened: rapid.Float64Range(2, 1e5).Draw(rt, "happened"), Polls: rapid.Float64Range(1, 1e5).Draw(rt, "polls")}
		tally.Captured = tally.Happened * rapid.Float64Range(0.01, 0.9).Draw(rt, "captured")
		s := learn.Share(tally)
		if math.Abs(s.Mean-tally.Captured/tally.Happened) > 1e-9 {
			rt.Fatalf("%v of %v were captured, and the share is %v", tally.Captured, tally.Happened, s.Mean)
		}
		more := tally
		more.Captured *= 1.1
		if m := learn.Share(more); m.Mean <= s.Mean {
			rt.Fatalf("with more captured the share goes from %+v to %+v", s, m)
		}
		if m := learn.Share(tally.Scale(7)); math.Abs(m.Mean-s.Mean) > 1e-9 || math.Abs(m.Low-s.Low) > 1e-9 {
			rt.Fatalf("seven times the same has the share %+v, want %+v", m, s)
		}
	})
}
