package lab_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/lab"
)

// A book gives back what it was told, also from a file, and does not take one
// grid or one stake for another.
func TestLimitBook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	grids := []*lab.Grid{
		lab.NewGrid(start, time.Minute, 9, [][]int{{1, 2, 3}, {2}, {2, 9}}),
		lab.NewGrid(start, time.Minute, 9, [][]int{{1, 2, 3, 4}, {2}, {2, 9}}),
		lab.NewGrid(start, time.Minute, 9, [][]int{{1, 2, 3}, {2, 2}, {3, 9}}),
	}
	stakes := []lab.Stakes{{}, {Life: freshet.Life{Kind: freshet.LifeAppend}}, {Urgency: freshet.Urgency{Kind: freshet.UrgencyExp, A: .5, Per: time.Minute}}}
	book, err := lab.OpenLimitBook(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, g := range grids {
			for _, k := range stakes {
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
		if book, err = lab.OpenLimitBook(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.OpenLimitBook(path); err == nil {
		t.Error("a file that is no book is taken for one")
	}
}

func TestLeastBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needed := rapid.Float64Range(0.001, 700).Draw(t, "needed")
		got, err := lab.LeastBudget(.5, func(budget float64) (float64, error) {
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
		_, err := lab.LeastBudget(1, func(budget float64) (float64, error) {
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
