package outlook_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"freshet/internal/learn/outlook"
)

func TestTallyAddsUp(t *testing.T) {
	one := outlook.Tally{Polls: 1, Captured: 2, Happened: 3, Variance: 4, Delay: 5, Watched: 6, Stale: 7, Age: 8}
	two := outlook.Tally{Polls: 10, Captured: 20, Happened: 30, Variance: 40, Delay: 50, Watched: 60, Stale: 70, Age: 80}
	want := outlook.Tally{Polls: 11, Captured: 22, Happened: 33, Variance: 44, Delay: 55, Watched: 66, Stale: 77, Age: 88}
	if diff := cmp.Diff(want, one.Add(two)); diff != "" {
		t.Errorf("the sum is wrong:\n%s", diff)
	}
	if diff := cmp.Diff(two, one.Scale(10), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("ten times the tally is wrong:\n%s", diff)
	}
}

func TestTallySaysWhatBecameOfChanges(t *testing.T) {
	tally := outlook.Tally{Captured: 30, Happened: 40, Variance: 4, Delay: 1800, Watched: 1000, Stale: 250, Age: 60000}
	if got := tally.MeanDelay(); got != time.Minute {
		t.Errorf("the mean delay is %v, want a minute", got)
	}
	if got := tally.Freshness(); got != 0.75 {
		t.Errorf("freshness is %v, want 0.75", got)
	}
	if got := tally.MeanAge(); got != time.Minute {
		t.Errorf("the mean age is %v, want a minute", got)
	}
	var none outlook.Tally
	if none.MeanDelay() != 0 || none.Freshness() != 1 || none.MeanAge() != 0 {
		t.Errorf("nothing has been missed by %+v", none)
	}
	over := outlook.Tally{Watched: 1, Stale: 2}
	if got := over.Freshness(); got != 0 {
		t.Errorf("freshness is %v, want it to stay at 0", got)
	}
}
