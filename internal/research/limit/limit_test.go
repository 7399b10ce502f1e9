package limit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/research/generate"
	"freshet/internal/research/limit"
)

// A book gives back what it was told, also from a file, and does not take one
// grid or one pageWeight for another.
func TestBook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	grids := []*lab.Grid{
		lab.NewGrid(time.Unix(0, 0), time.Minute, 9, [][]int{{1, 2, 3}, {2}, {2, 9}}),
		lab.NewGrid(time.Unix(0, 0), time.Minute, 9, [][]int{{1, 2, 3, 4}, {2}, {2, 9}}),
		lab.NewGrid(time.Unix(0, 0), time.Minute, 9, [][]int{{1, 2, 3}, {2, 2}, {3, 9}}),
	}
	weights := []lab.Weights{{}, {Life: objective.Visibility{Kind: objective.VisibleForever}}, {Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: .5, Per: time.Minute}}}
	book, err := limit.OpenBook(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, g := range grids {
			for _, k := range weights {
				for _, budget := range []float64{.5, 1} {
					want, err := g.Limit(budget, k)
					if err != nil {
						t.Fatal(err)
					}
					got, err := book.Limit(g, budget, k)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%v polls, %v, %v (-want +got):\n%s", budget, k.Life, k.Urgency, diff)
					}
				}
			}
		}
		if err := book.Save(path); err != nil {
			t.Fatal(err)
		}
		if book, err = limit.OpenBook(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := limit.OpenBook(path); err == nil {
		t.Error("a file that is no book is taken for one")
	}
}

func TestLeastBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needed := rapid.Float64Range(0.001, 700).Draw(t, "needed")
		got, err := limit.LeastBudget(.5, func(budget float64) (float64, error) {
			if budget >= needed {
				return .7, nil
			}
			return .4, nil
		})
		step := 1.0
		if needed <= 1 {
			step = .01
		}
		if err != nil || got < needed || got-step >= needed {
			t.Fatalf("%v polls, want the first step of %v from %v on (%v)", got, step, needed, err)
		}
	})
	trouble := errors.New("trouble")
	for _, at := range []float64{1, 2, 3} {
		_, err := limit.LeastBudget(1, func(budget float64) (float64, error) {
			if budget == at {
				return 0, trouble
			}
			return budget / 4, nil
		})
		if !errors.Is(err, trouble) {
			t.Errorf("trouble at %v comes out as %v", at, err)
		}
	}
}

// The least budget for a share reaches it, and hardly any less would.
func TestCeiling(t *testing.T) {
	t.Parallel()
	h, err := generate.New(generate.Spec{Kind: "poisson", Pages: 12, Length: 48 * time.Hour, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.Quantise(lab.Period{Instant: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := lab.NewCase("made", g, lab.Weights{})
	at, err := limit.AtShare(t.Context(), c, 0.6)
	if err != nil {
		t.Fatal(err)
	}
	below, err := limit.Of(t.Context(), c, at.Budget-0.02)
	if err != nil {
		t.Fatal(err)
	}
	if at.Share != 0.6 || at.Normalized < 0.6 || below.Normalized >= 0.6 || at.Changes != c.Grid.Changes() || at.Normalized != at.Value/c.Weight {
		t.Errorf("a share of 0.6 takes %v polls an instant, for %v; a little less brings %v", at.Budget, at.Normalized, below.Normalized)
	}
}
