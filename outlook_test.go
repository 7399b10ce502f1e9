package freshet_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"freshet"
)

func TestTallyAddsUp(t *testing.T) {
	one := freshet.Tally{Polls: 1, Captured: 2, Happened: 3, Variance: 4, Delay: 5, Watched: 6, Stale: 7, Age: 8}
	two := freshet.Tally{Polls: 10, Captured: 20, Happened: 30, Variance: 40, Delay: 50, Watched: 60, Stale: 70, Age: 80}
	want := freshet.Tally{Polls: 11, Captured: 22, Happened: 33, Variance: 44, Delay: 55, Watched: 66, Stale: 77, Age: 88}
	if diff := cmp.Diff(want, one.Add(two)); diff != "" {
		t.Errorf("the sum is wrong:\n%s", diff)
	}
	if diff := cmp.Diff(two, one.Scale(10), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("ten times the tally is wrong:\n%s", diff)
	}
}

func TestTallySaysWhatBecameOfChanges(t *testing.T) {
	tally := freshet.Tally{Captured: 30, Happened: 40, Variance: 4, Delay: 1800, Watched: 1000, Stale: 250, Age: 60000}
	if got := tally.Share().Mean; got != 0.75 {
		t.Errorf("the share is %v, want 0.75", got)
	}
	if got := tally.MeanDelay(); got != time.Minute {
		t.Errorf("the mean delay is %v, want a minute", got)
	}
	if got := tally.Freshness(); got != 0.75 {
		t.Errorf("freshness is %v, want 0.75", got)
	}
	if got := tally.MeanAge(); got != time.Minute {
		t.Errorf("the mean age is %v, want a minute", got)
	}
	var none freshet.Tally
	if s := none.Share(); s != (freshet.Range{Mean: 1, Low: 1, High: 1}) || none.MeanDelay() != 0 || none.Freshness() != 1 || none.MeanAge() != 0 {
		t.Errorf("nothing has been missed by %+v", none)
	}
	all := freshet.Tally{Captured: 5, Happened: 4.5, Variance: 1}
	if s := all.Share(); s.Mean != 1 {
		t.Errorf("more was captured than is thought to have happened, and the share is %+v", s)
	}
	over := freshet.Tally{Watched: 1, Stale: 2}
	if got := over.Freshness(); got != 0 {
		t.Errorf("freshness is %v, want it to stay at 0", got)
	}
}

// The bounds hold the mean, stay between nothing and all, and grow with doubt.
func TestShareBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		captured := rapid.Float64Range(0, 1e6).Draw(rt, "captured")
		tally := freshet.Tally{
			Captured: captured, Happened: captured + rapid.Float64Range(1e-6, 1e6).Draw(rt, "missed"),
			Variance: math.Exp(rapid.Float64Range(-10, 20).Draw(rt, "variance")),
		}
		s := tally.Share()
		if !(0 <= s.Low && s.Low <= s.High && s.High <= 1) || s.Mean < 0 || s.Mean > 1 {
			rt.Fatalf("the share of %+v is %+v", tally, s)
		}
		surer := tally
		surer.Variance /= 4
		if u := surer.Share(); u.High-u.Low > s.High-s.Low+1e-9 && s.Low > 0.01 && s.High < 0.99 {
			rt.Fatalf("with less doubt the bounds grow from %+v to %+v", s, u)
		}
	})
}
