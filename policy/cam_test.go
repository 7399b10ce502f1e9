package policy_test

import (
	"fmt"
	"testing"
	"time"

	"freshet"
	"freshet/policy"
)

func TestCAMOracle(t *testing.T) {
	for _, c := range wicCases(t, "B12") {
		var in struct {
			Pi pis
			W  []float64
		}
		var want struct{ WIC, CAM float64 }
		c.read(t, &in, &want)
		w := newWicWorld(in.Pi, in.W, 1, []freshet.Life{{}}, freshet.Urgency{Kind: freshet.UrgencyWindow})
		cam := policy.NewCAM(policy.CAMConfig{Start: noon, Epoch: w.instants(), Polls: 1, Estimator: w.pi})
		if u, _ := w.utility(w.run(cam)); !agrees(u, want.CAM, c.Tol) {
			t.Errorf("CAM captures %v, want %v", u, want.CAM)
		}
		if u, _ := w.utility(w.run(w.wic())); !agrees(u, want.WIC, c.Tol) {
			t.Errorf("WIC captures %v, want %v", u, want.WIC)
		}
	}
}

func TestCAM(t *testing.T) {
	tests := []struct {
		what string
		pi   pis
		conf policy.CAMConfig
		want string
	}{
		{"pairs that an instant has no room for are dropped",
			pis{{0.9, 0, 0, 0}, {0.8, 0, 0, 0}, {0, 0, 0.1, 0}}, policy.CAMConfig{Epoch: 4}, "[[0] [] [2] []]"},
		{"or wait",
			pis{{0.9, 0, 0, 0}, {0.8, 0, 0, 0}, {0, 0, 0.1, 0}}, policy.CAMConfig{Epoch: 4, Slip: 1}, "[[0] [1] [2] []]"},
		{"but not for long",
			pis{{0.9, 0.9, 0, 0}, {0.8, 0, 0, 0}, {0, 0, 0.1, 0}}, policy.CAMConfig{Epoch: 4, Slip: 1}, "[[0] [0] [2] []]"},
		{"one poll serves two pairs of a source",
			pis{{0.9, 0.9, 0, 0}, {0.8, 0.8, 0, 0}, {0, 0, 0, 0}}, policy.CAMConfig{Epoch: 4, Slip: 2}, "[[0] [0] [1] []]"},
		{"what falls short of the epoch's polls is not polled",
			pis{{0.9, 0.5, 0, 0}, {0, 0, 0.4, 0.3}}, policy.CAMConfig{Epoch: 2}, "[[0] [0] [1] [1]]"},
		{"the likeliest of the epoch, ties to the earlier",
			pis{{0.5, 0.5, 0.9, 0.9}}, policy.CAMConfig{Epoch: 4, Polls: 0.75}, "[[0] [] [0] [0]]"},
	}
	for _, tt := range tests {
		w := newWicWorld(tt.pi, nil, 1, []freshet.Life{{}}, freshet.Urgency{})
		tt.conf.Start, tt.conf.Estimator = noon, tt.pi
		if got := fmt.Sprint(w.run(policy.NewCAM(tt.conf))); got != tt.want {
			t.Errorf("%s: polls %s, want %s", tt.what, got, tt.want)
		}
	}
}

// A refused visit is offered again within its instant, and a source that goes
// or rests is not offered.
func TestCAMThroughEdits(t *testing.T) {
	cam := policy.NewCAM(policy.CAMConfig{Start: noon, Epoch: 2, Polls: 3, Estimator: pis{{1, 1}, {0.9, 0.9}, {0.8, 0.8}}})
	for i := range 3 {
		cam.Put(noon, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i))}, time.Time{})
	}
	at := func(j int, refuse freshet.Slot) (got []freshet.Slot) {
		again := cam.Choose(noon.Add(time.Duration(j)*time.Minute), 3, func(s freshet.Slot, _ float64) bool {
			got = append(got, s)
			return s != refuse
		})
		if want := noon.Add(time.Duration(j+1) * time.Minute); !again.Equal(want) {
			t.Errorf("asked to come again at %v, want %v", again, want)
		}
		return got
	}
	if got := fmt.Sprint(at(1, 0), at(1, -1), at(1, -1)); got != "[0 1 2] [0] []" {
		t.Errorf("offered %s, want the refused one again", got)
	}
	cam.Remove(0)
	cam.Put(noon, 1, freshet.Source{ID: "s1", Paused: true}, time.Time{})
	if got := fmt.Sprint(at(2, -1)); got != "[2]" {
		t.Errorf("offered %s, want neither the one that went nor the one that rests", got)
	}
}
