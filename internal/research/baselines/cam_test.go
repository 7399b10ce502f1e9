package baselines_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

// Where only captures without delay count, WIC is optimal, and CAM, which gives
// the polls of an epoch to the likeliest changes and drops what an instant has no
// room for, is not. What both capture was found by brute force.
func TestCAMOracle(t *testing.T) {
	chance := policytest.Table{{0.5, 0.2, 0, 0.9, 0.3, 0.6}, {0.3, 0.3, 0.3, 0.3, 0.3, 0.3}, {0.1, 0.8, 0.1, 0.1, 0.8, 0.1}}
	w := policytest.NewWorld(chance, []float64{1, 0.8, 1}, 1, []objective.Visibility{{}}, objective.Urgency{Kind: objective.UrgencyWindow})
	cam := baselines.NewCAM(baselines.CAMConfig{Start: policytest.Noon, Epoch: w.Instants(), Polls: 1, Estimator: chance})
	if u, _ := w.Utility(w.Run(cam)); math.Abs(u-3.6) > 1e-9 {
		t.Errorf("CAM captures %v, want 3.6", u)
	}

	if u, _ := w.Utility(w.Run(wic(w))); math.Abs(u-3.84) > 1e-9 {
		t.Errorf("WIC captures %v, want 3.84", u)
	}
}

func TestCAM(t *testing.T) {
	tests := []struct {
		what string
		pi   policytest.Table
		conf baselines.CAMConfig
		want string
	}{
		{"pairs that an instant has no room for are dropped",
			policytest.Table{{0.9, 0, 0, 0}, {0.8, 0, 0, 0}, {0, 0, 0.1, 0}}, baselines.CAMConfig{Epoch: 4}, "[[0] [] [2] []]"},
		{"or wait",
			policytest.Table{{0.9, 0, 0, 0}, {0.8, 0, 0, 0}, {0, 0, 0.1, 0}}, baselines.CAMConfig{Epoch: 4, Slip: 1}, "[[0] [1] [2] []]"},
		{"but not for long",
			policytest.Table{{0.9, 0.9, 0, 0}, {0.8, 0, 0, 0}, {0, 0, 0.1, 0}}, baselines.CAMConfig{Epoch: 4, Slip: 1}, "[[0] [0] [2] []]"},
		{"one poll serves two pairs of a source",
			policytest.Table{{0.9, 0.9, 0, 0}, {0.8, 0.8, 0, 0}, {0, 0, 0, 0}}, baselines.CAMConfig{Epoch: 4, Slip: 2}, "[[0] [0] [1] []]"},
		{"what falls short of the epoch's polls is not polled",
			policytest.Table{{0.9, 0.5, 0, 0}, {0, 0, 0.4, 0.3}}, baselines.CAMConfig{Epoch: 2}, "[[0] [0] [1] [1]]"},
		{"the likeliest of the epoch, ties to the earlier",
			policytest.Table{{0.5, 0.5, 0.9, 0.9}}, baselines.CAMConfig{Epoch: 4, Polls: 0.75}, "[[0] [] [0] [0]]"},
	}
	for _, tt := range tests {
		w := policytest.NewWorld(tt.pi, nil, 1, []objective.Visibility{{}}, objective.Urgency{})
		tt.conf.Start, tt.conf.Estimator = policytest.Noon, tt.pi
		if got := fmt.Sprint(w.Run(baselines.NewCAM(tt.conf))); got != tt.want {
			t.Errorf("%s: polls %s, want %s", tt.what, got, tt.want)
		}
	}
}

// A refused visit is offered again within its instant, and a source that goes
// or rests is not offered.
func TestCAMThroughEdits(t *testing.T) {
	cam := baselines.NewCAM(baselines.CAMConfig{Start: policytest.Noon, Epoch: 2, Polls: 3, Estimator: policytest.Table{{1, 1}, {0.9, 0.9}, {0.8, 0.8}}})
	for i := range 3 {
		cam.Put(policytest.Noon, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i))}, time.Time{})
	}
	at := func(j int, refuse freshet.Slot) (got []freshet.Slot) {
		again := cam.Choose(policytest.Noon.Add(time.Duration(j)*time.Minute), 3, func(s freshet.Slot, _ float64) bool {
			got = append(got, s)
			return s != refuse
		})
		if want := policytest.Noon.Add(time.Duration(j+1) * time.Minute); !again.Equal(want) {
			t.Errorf("asked to come again at %v, want %v", again, want)
		}
		return got
	}
	if got := fmt.Sprint(at(1, 0), at(1, -1), at(1, -1)); got != "[0 1 2] [0] []" {
		t.Errorf("offered %s, want the refused one again", got)
	}
	cam.Remove(0)
	cam.Put(policytest.Noon, 1, freshet.Source{ID: "s1", Paused: true}, time.Time{})
	if got := fmt.Sprint(at(2, -1)); got != "[2]" {
		t.Errorf("offered %s, want neither the one that went nor the one that rests", got)
	}
}

// wic returns WIC for a world.
func wic(w policytest.World) freshet.Policy {
	return policy.NewWIC(policy.WICConfig{Start: policytest.Noon, Instant: time.Minute, Estimator: w.Chance})
}
