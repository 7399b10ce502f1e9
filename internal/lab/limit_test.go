package lab_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
)

var (
	lives     = []string{"overwrite", "append", "window:0", "window:2", "last:1", "last:2"}
	urgencies = []string{"uniform", "exp:0.5", "exp:0", "window:0", "window:2", "poly:1", "chordal:3", "polyexp:1,0.5", "table:1,0.4"}
)

func parsed(t interface{ Fatal(...any) }, life, urgency string) lab.Weights {
	var k lab.Weights
	var err error
	if k.Life, err = objective.ParseVisibilityIn(time.Minute, life); err != nil {
		t.Fatal(err)
	}
	if k.Urgency, err = objective.ParseUrgencyIn(time.Minute, urgency); err != nil {
		t.Fatal(err)
	}
	return k
}

// What can two pages that change at the same time give to one poll an instant?
func ExampleGrid_Limit() {
	grid := lab.NewGrid(start, time.Minute, 4, [][]int{{1, 2, 3}, {1, 2, 3}})
	for _, urgency := range []string{"uniform", "window:0"} {
		u, err := objective.ParseUrgencyIn(time.Minute, urgency)
		if err != nil {
			fmt.Println(err)
			return
		}
		limit, err := grid.Limit(1, lab.Weights{Urgency: u})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %v of %d, by %s\n", urgency, limit.Value, grid.Changes(), limit.Method)
	}
	// Output:
	// uniform: 4 of 6, by deadline
	// window:0: 3 of 6, by top
}

// A tiny is an instance on which every schedule can be tried.
type tiny struct {
	grid    *lab.Grid
	weights lab.Weights
	budget  float64
}

func drawTiny(t *rapid.T, budgets []float64) tiny {
	n := rapid.IntRange(1, 5).Draw(t, "instants")
	changes := make([][]int, rapid.IntRange(1, 3).Draw(t, "pages"))
	weights := make([]float64, len(changes))
	kinds := make([]lab.Weights, len(changes))
	one := parsed(t, rapid.SampledFrom(lives).Draw(t, "life"), rapid.SampledFrom(urgencies).Draw(t, "urgency"))
	equal, mixed := rapid.Bool().Draw(t, "equal"), rapid.IntRange(0, 4).Draw(t, "mixed") == 0
	for i := range changes {
		changes[i] = rapid.SliceOfN(rapid.IntRange(1, n), 0, 6).Draw(t, "changes")
		weights[i], kinds[i] = 1, one
		if !equal {
			weights[i] = rapid.SampledFrom([]float64{.25, .5, 1, 1.5}).Draw(t, "weight")
		}
		if mixed {
			kinds[i] = parsed(t, rapid.SampledFrom(lives).Draw(t, "life"), rapid.SampledFrom(urgencies).Draw(t, "urgency"))
		}
	}
	if !equal || mixed {
		one.Adjust = func(page int, s *freshet.Source) {
			s.Weight, s.Life, s.Urgency = weights[page], kinds[page].Life, kinds[page].Urgency
		}
	}
	return tiny{lab.NewGrid(start, time.Minute, n, changes), one, rapid.SampledFrom(budgets).Draw(t, "budget")}
}

// optimum tries every schedule within the budget.
func (x tiny) optimum() (best float64) {
	pages := len(x.grid.Pages())
	var polls [][2]int
	var try func(at int, tokens float64)
	try = func(at int, tokens float64) {
		if at > x.grid.Instants {
			s := lab.NewScorer(x.grid, x.weights, lab.Measures{})
			for _, p := range polls {
				s.Poll(p[0], p[1])
			}
			best = max(best, s.Score().Utility)
			return
		}
		if x.budget == math.Trunc(x.budget) {
			tokens = 0
		}
		tokens = min(tokens, max(1, x.budget)) + x.budget
		for set := range 1 << pages {
			n := 0
			for page := range pages {
				if set>>page&1 == 1 {
					polls = append(polls, [2]int{page, at})
					n++
				}
			}
			if float64(n) <= tokens+1e-9 {
				try(at+1, tokens-float64(n))
			}
			polls = polls[:len(polls)-n]
		}
	}
	try(1, 0)
	return best
}

// No schedule is better than the limit, some schedule has what was reached, and
// where the limit is called exact it is.
func TestLimitAgainstEverySchedule(t *testing.T) {
	var exact, all int
	var slack float64
	rapid.Check(t, func(t *rapid.T) {
		x := drawTiny(t, []float64{1, 2, 1, .5, .4, 1.5})
		want := x.optimum()
		got, err := x.grid.Limit(x.budget, x.weights)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value < want-1e-9 {
			t.Fatalf("the limit by %s is %v, and a schedule has %v", got.Method, got.Value, want)
		}
		if got.Reached > want+1e-9 || got.Reached > got.Value {
			t.Fatalf("%v is said to be reached under a limit of %v, and the optimum is %v", got.Reached, got.Value, want)
		}
		if got.Exact && math.Abs(got.Value-want) > 1e-9 {
			t.Fatalf("the limit by %s is said to be exactly %v, and it is %v", got.Method, got.Value, want)
		}
		whole := x.budget == math.Trunc(x.budget)
		if whole && got.Value > want*1.05+1e-9 {
			t.Fatalf("the limit by %s is %v, far above the optimum %v", got.Method, got.Value, want)
		}
		if whole && want > 0 {
			slack = max(slack, got.Value/want-1)
		}
		all++
		if got.Exact {
			exact++
		}
	})
	t.Logf("%d of %d exact, at most %.3g%% above the optimum", exact, all, 100*slack)
}

// The methods that are exact say so, and are used where they apply.
func TestLimitMethods(t *testing.T) {
	g := lab.NewGrid(start, time.Minute, 10, [][]int{{1, 2, 5, 9}, {1, 4, 5, 8}, {3, 6, 7, 10}})
	weights := weighing([]float64{1, .5, 1})
	for _, tt := range []struct {
		life, urgency string
		weighed       bool
		want          string
	}{
		{"overwrite", "uniform", false, lab.MethodDeadline},
		{"last:1", "uniform", false, lab.MethodDeadline},
		{"overwrite", "uniform", true, lab.MethodMatroid},
		{"append", "window:0", true, lab.MethodTop},
		{"window:0", "uniform", false, lab.MethodTop},
		{"append", "exp:0", false, lab.MethodTop},
	} {
		k := parsed(t, tt.life, tt.urgency)
		if tt.weighed {
			k.Adjust = weights.Adjust
		}
		l, err := g.Limit(1, k)
		if err != nil {
			t.Fatal(err)
		}
		if l.Method != tt.want || !l.Exact {
			t.Errorf("%s with %s: by %s, exact %v, want by %s and exact", tt.life, tt.urgency, l.Method, l.Exact, tt.want)
		}
	}
	if _, err := g.Limit(math.NaN(), lab.Weights{}); err == nil {
		t.Error("a budget that is no number is taken")
	}
	if l, err := g.Limit(0, parsed(t, "append", "poly:1")); err != nil || l.Value != 0 || !l.Exact {
		t.Errorf("without a budget: %+v, %v", l, err)
	}
}

// By prices alone the limit of a day of thousands of pages comes close to the
// exact one.
// A plan at the prices of the bound comes near to it where late is worth less than early, and
// polling what gains most at once does not.
func TestPlanAtPrices(t *testing.T) {
	var pages []lab.Gains
	for i := range 12 {
		chance := 0.01 * math.Exp(float64(i%5)/2)
		pages = append(pages, func(k, j int) float64 { return chance * math.Pow(0.9, float64(j-k)) })
	}
	for _, budget := range []float64{1, 2} {
		l, err := lab.LimitOf(60, budget, pages)
		if err != nil {
			t.Fatal(err)
		}
		if share := l.Reached / l.Value; share < 0.97 || share > 1 {
			t.Errorf("with %v polls an instant the plan has %.4f of the bound", budget, share)
		}
	}
}

func BenchmarkLimit(b *testing.B) {
	g := paperSize(7550)
	for _, life := range []string{"overwrite", "append", "last:2", "window:10"} {
		for _, urgency := range []string{"uniform", "exp:0.9", "exp:0.5", "window:0", "poly:1"} {
			b.Run(fmt.Sprintf("%s/%s", life, urgency), func(b *testing.B) {
				for b.Loop() {
					l, err := g.Limit(8, parsed(b, life, urgency))
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(100*l.Reached/l.Value, "%reached")
					b.ReportMetric(l.Value, "value")
				}
			})
		}
	}
}
