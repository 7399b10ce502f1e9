package lab_test

import (
	"testing"
	"time"

	"freshet/lab"
	"freshet/policy"
)

// Histories that are made up hold little that can be learnt: pages that are alike,
// and change a few times in all. Auto loses next to nothing there to taking turns,
// at any budget. Means over seeds, since a few changes more or less are luck.
func TestAutoLosesNothingToTurns(t *testing.T) {
	const seeds, loss = 10, 0.005
	for _, tt := range []struct {
		lab.Generation
		instant time.Duration
	}{
		{lab.Generation{Kind: "auction", Pages: 400}, time.Minute},
		{lab.Generation{Kind: "poisson", Pages: 100}, time.Minute},
		{lab.Generation{Kind: "bursty", Pages: 150}, time.Minute},
		{lab.Generation{Kind: "periodic", Pages: 150}, time.Minute},
		{lab.Generation{Kind: "atis", Pages: 50, Length: 24 * time.Hour}, time.Minute},
		{lab.Generation{Kind: "normal", Sites: 10, Pages: 40}, 6 * time.Hour},
		{lab.Generation{Kind: "vshaped", Sites: 10, Pages: 40}, 6 * time.Hour},
	} {
		t.Run(tt.Kind, func(t *testing.T) {
			t.Parallel()
			for _, budget := range []float64{0.5, 1, 8} {
				var auto, uniform float64
				for seed := range uint64(seeds) {
					tt.Seed = 21 + seed
					h, err := lab.Generate(tt.Generation)
					if err != nil {
						t.Fatal(err)
					}
					g, err := h.Quantise(lab.Period{Instant: tt.instant})
					if err != nil {
						t.Fatal(err)
					}
					auto += recallOf(t, g, "auto", budget) / seeds
					uniform += recallOf(t, g, "uniform", budget) / seeds
				}
				t.Logf("%v polls an instant: %.4f, by turns %.4f", budget, auto, uniform)
				if auto < uniform-loss {
					t.Errorf("with %v polls an instant %.4f of the changes are captured, and %.4f by turns", budget, auto, uniform)
				}
			}
		})
	}
}

// recallOf returns what a policy captures of a grid.
func recallOf(t *testing.T, g *lab.Grid, name string, budget float64) float64 {
	t.Helper()
	p, err := policy.New(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(g.Pages())})
	if err != nil {
		t.Fatal(err)
	}
	score, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return score.Recall
}
