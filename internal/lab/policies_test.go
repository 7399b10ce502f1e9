package lab_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/baselines"
	"freshet/internal/research/generate"
	"freshet/internal/sched/policy"
)

func exactWIC(g *lab.Grid) *policy.WIC {
	return policy.NewWIC(policy.WICConfig{Start: g.Start, Instant: g.Instant, Estimator: estimate.NewExact(g.Truth())})
}

// Every policy keeps the budget of every instant, captures no more than can be
// captured, and does the same again.
func TestEveryPolicy(t *testing.T) {
	h := simulated(t, generate.Spec{Kind: "periodic", Pages: 40, Length: 6 * time.Hour})
	g, err := h.Quantise(lab.Period{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range baselines.Names() {
		for _, budget := range []float64{2, .6} {
			t.Run(fmt.Sprintf("%s/%v", name, budget), func(t *testing.T) {
				var scores [2]lab.Score
				for i := range scores {
					p, err := baselines.New(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Scale: true, Seed: 1, Estimator: estimate.NewExact(g.Truth())})
					if err != nil {
						t.Fatal(err)
					}
					each := map[int]int{}
					scores[i], err = lab.Replay(t.Context(), g, p, lab.Options{Budget: budget, Look: func(_, j int, _ bool) { each[j]++ }})
					if err != nil {
						t.Fatal(err)
					}
					for j, n := range each {
						if most := 2; n > most {
							t.Errorf("%d polls in instant %d", n, j)
						}
					}
				}
				if diff := cmp.Diff(scores[0], scores[1]); diff != "" {
					t.Errorf("two runs differ:\n%s", diff)
				}
				limit, err := g.Limit(budget, lab.Weights{})
				if err != nil {
					t.Fatal(err)
				}
				if s := scores[0]; s.Polls == 0 || s.Utility > limit.Value+1e-9 || float64(s.Polls) > budget*float64(g.Instants)+1e-9 {
					t.Errorf("%d polls, utility %v; the limit is %v", s.Polls, s.Utility, limit.Value)
				}
			})
		}
	}
}

// WIC that knows the future is optimal where only captures at once count, and
// reaches half of the optimum in every case.
func TestWICAgainstTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawTiny(t, []float64{1, 2})
		score, err := lab.Replay(t.Context(), x.grid, exactWIC(x.grid), lab.Options{Budget: x.budget, Weights: x.weights})
		if err != nil {
			t.Fatal(err)
		}
		limit, err := x.grid.Limit(x.budget, x.weights)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case score.Utility > limit.Value+1e-9:
			t.Fatalf("WIC has %v, and the limit is %v", score.Utility, limit.Value)
		case 2*score.Utility < x.optimum()-1e-9:
			t.Fatalf("WIC has %v, less than half of %v", score.Utility, x.optimum())
		case limit.Method == lab.MethodTop && math.Abs(score.Utility-limit.Value) > 1e-9:
			t.Fatalf("WIC has %v where only captures at once count, and %v can be had", score.Utility, limit.Value)
		}
	})
}
