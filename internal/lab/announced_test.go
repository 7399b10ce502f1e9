package lab_test

import (
	"testing"
	"time"

	"freshet/internal/lab"
	"freshet/internal/research/generate"
	"freshet/internal/test/tier"
)

// Pages that say when they change next are captured more if that is true, and hardly less
// if it is not. Means over seeds. The long tier tries more of them.
func TestAnnounced(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	seeds, percents := uint64(2), []int{100, 50, 0}
	all := tier.IsLong()
	if all {
		seeds, percents = 5, []int{100, 90, 75, 50, 25, 0}
	}
	for _, kind := range []struct {
		generate.Spec
		budget float64
		gains  float64 // of the changes, at least, by pages that always tell the truth
		always bool
	}{
		{generate.Spec{Kind: "periodic", Pages: 150}, 1, -0.001, false},
		{generate.Spec{Kind: "periodic", Pages: 150}, 2, 0.05, false},
		{generate.Spec{Kind: "poisson", Pages: 100}, 1, 0.1, false},
		{generate.Spec{Kind: "poisson", Pages: 100}, 4, 0.06, false},
		{generate.Spec{Kind: "bursty", Pages: 150}, 1, 0.06, true},
		{generate.Spec{Kind: "auction", Pages: 400}, 2, -0.001, false},
		{generate.Spec{Kind: "atis", Pages: 50, Length: 24 * time.Hour}, 1, 0, false},
		{generate.Spec{Kind: "atis", Pages: 50, Length: 24 * time.Hour}, 2, 0.1, true},
	} {
		if !kind.always && !all {
			continue
		}
		t.Run(kind.Kind, func(t *testing.T) {
			t.Parallel()
			var grids []*lab.Grid
			for seed := range seeds {
				kind.Seed = 51 + seed
				g, err := simulated(t, kind.Spec).Quantise(lab.Period{Instant: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				grids = append(grids, g)
			}
			deaf := meanRecall(t, grids, "auto", kind.budget, lab.Evidence{})
			for _, percent := range percents {
				told := meanRecall(t, grids, "auto", kind.budget, lab.Evidence{Kind: lab.Told, Entries: percent})
				t.Logf("%s, %v polls an instant: told the truth %d%% of the time %.4f, without listening %.4f, %+.4f", kind.Kind, kind.budget, percent, told, deaf, told-deaf)
				if least := deaf + kind.gains; percent == 100 && told < least {
					t.Errorf("of pages that tell the truth %.4f is captured, want %.4f", told, least)
				}
				if told < 0.99*deaf {
					t.Errorf("of pages that tell the truth %d%% of the time %.4f is captured, and %.4f without listening", percent, told, deaf)
				}
			}
		})
	}
}
