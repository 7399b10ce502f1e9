package outlook_test

import (
	"testing"

	"freshet/internal/learn/outlook"
)

func TestFairness(t *testing.T) {
	of := func(polled, left int, maybe ...float64) (f outlook.Fairness) {
		for range polled {
			f.Add(1, true)
		}
		for range left {
			f.Add(1, false)
		}
		for _, chance := range maybe {
			f.Add(chance, false)
		}
		return f
	}
	tests := []struct {
		what   string
		groups []outlook.Fairness
		want   float64
		sure   bool
	}{
		{"nothing has changed", nil, 1, true},
		{"nothing has changed on a host", []outlook.Fairness{of(0, 0), of(1, 0)}, 1, true},
		{"all were polled", []outlook.Fairness{of(5, 0)}, 1, true},
		{"none was polled", []outlook.Fairness{of(0, 5)}, 0, true},
		{"four of five", []outlook.Fairness{of(4, 1)}, 0.8, true},
		{"four of five, if chances are right", []outlook.Fairness{of(4, 0, 0.5, 0.25, 0.25)}, 0.8, false},
		{"a large host and a small one", []outlook.Fairness{of(99, 0), of(0, 1)}, 0.5, true},
		{"a host that has hardly changed counts for little", []outlook.Fairness{of(3, 0), of(0, 0, 0.5)}, 2. / 3, false},
	}
	for _, tt := range tests {
		got := outlook.FairnessOver(tt.groups)
		if got.Mean < tt.want-1e-9 || got.Mean > tt.want+1e-9 {
			t.Errorf("%s: %v, want %v", tt.what, got.Mean, tt.want)
		}
		if sure := got.Low == got.Mean && got.High == got.Mean; sure != tt.sure || got.Low > got.Mean || got.High < got.Mean || got.Low < 0 || got.High > 1 {
			t.Errorf("%s: the range is %+v", tt.what, got)
		}
	}
}
