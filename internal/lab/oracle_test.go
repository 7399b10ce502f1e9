package lab_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
)

// A worked is an instance with its answer, found by brute force.
type worked struct {
	ID       string
	Group    string
	Input    json.RawMessage
	Expected json.RawMessage
	Tol      float64
}

// oracle returns the cases whose IDs begin with prefix. Each is to be tested.
func oracle(t *testing.T, prefix string) (cases []worked) {
	b, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []worked
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if strings.HasPrefix(c.ID, prefix) {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatalf("there are no cases %s", prefix)
	}
	return cases
}

func (c worked) read(t *testing.T, input, expected any) {
	t.Helper()
	if err := json.Unmarshal(c.Input, input); err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	if err := json.Unmarshal(c.Expected, expected); err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
}

func (c worked) near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= c.Tol) {
		t.Errorf("%s: %s is %v, want %v", c.ID, what, got, want)
	}
}

// scored polls the one page of a grid and returns the score.
func scored(changes, polls []int, instants int, k lab.Weights, m lab.Measures) lab.Score {
	s := lab.NewScorer(lab.NewGrid(start, time.Second, instants, [][]int{changes}), k, m)
	for _, j := range polls {
		s.Poll(0, j)
	}
	return s.Score()
}

func TestOracleRecall(t *testing.T) {
	for _, c := range oracle(t, "A0") {
		var in struct {
			Updates, Polls []int
			Uniform        []int `json:"uniform_polls"`
			Optimal        []int `json:"opt_polls"`
			Visible        *bool `json:"update_visible_at_same_instant"`
			Pairs          [][2]float64
		}
		var want struct {
			Recall  json.RawMessage
			Uniform float64 `json:"uniform_recall"`
			Optimal float64 `json:"opt_recall"`
		}
		c.read(t, &in, &want)
		recall := func(polls []int) float64 {
			if in.Visible != nil && !*in.Visible { // a poll sees what was at the end of the instant before
				polls = slices.Clone(polls)
				for i := range polls {
					polls[i]--
				}
			}
			return scored(in.Updates, polls, 300, lab.Weights{}, lab.Measures{}).Recall
		}
		switch {
		case in.Pairs != nil:
			var list []float64
			if err := json.Unmarshal(want.Recall, &list); err != nil {
				t.Fatal(err)
			}
			for i, p := range in.Pairs {
				var changes, polls []int
				for j := 1; j <= int(p[1]); j++ {
					changes = append(changes, 2*j)
					if j > int(p[1]-p[0]) {
						polls = append(polls, 2*j)
					}
				}
				c.near(t, "recall", scored(changes, polls, 100, lab.Weights{}, lab.Measures{}).Recall, list[i])
			}
		case in.Polls != nil:
			var one float64
			if err := json.Unmarshal(want.Recall, &one); err != nil {
				t.Fatal(err)
			}
			c.near(t, "recall", recall(in.Polls), one)
		default:
			c.near(t, "uniform recall", recall(in.Uniform), want.Uniform)
			c.near(t, "optimal recall", recall(in.Optimal), want.Optimal)
		}
	}
}

func TestOracleFreshnessAndAge(t *testing.T) {
	for _, c := range oracle(t, "A14") {
		var in struct{ Updates, Polls, Window []int }
		var want struct {
			Freshness, Recall float64
			AgeFirst          float64 `json:"age_first"`
			AgeLast           float64 `json:"age_last"`
			Captured          []int
		}
		c.read(t, &in, &want)
		first := scored(in.Updates, in.Polls, in.Window[1], lab.Weights{}, lab.Measures{})
		last := scored(in.Updates, in.Polls, in.Window[1], lab.Weights{}, lab.Measures{Age: lab.AgeLast})
		c.near(t, "freshness", first.Freshness, want.Freshness)
		c.near(t, "age from the first change", first.AgeSeconds, want.AgeFirst)
		c.near(t, "age from the last change", last.AgeSeconds, want.AgeLast)
		c.near(t, "recall", first.Recall, want.Recall)
		c.near(t, "captured", float64(first.Captured), float64(len(want.Captured)))
	}
}

func TestOracleTraceEvaluation(t *testing.T) {
	lives := map[string]string{"append": "append", "overwrite": "overwrite", "('change', 2)": "last:2", "('time', 1)": "window:1"}
	for _, c := range oracle(t, "B08") {
		var in struct {
			Changes, Polls []int
			N              int
		}
		var want map[string]struct {
			Utility, Normalised, Captured float64
			Zero                          float64 `json:"zero_delay"`
		}
		c.read(t, &in, &want)
		for name, want := range want {
			life, rate, _ := strings.Cut(name, "|r=")
			l, err := objective.ParseVisibility(lives[life])
			if err != nil {
				t.Fatal(err)
			}
			u, err := objective.ParseUrgency("exp:" + rate + "/1s")
			if err != nil {
				t.Fatal(err)
			}
			got := scored(in.Changes, in.Polls, in.N, lab.Weights{Life: l, Urgency: u}, lab.Measures{})
			c.near(t, name+" utility", got.Utility, want.Utility)
			c.near(t, name+" normalised utility", got.UtilityNormalized, want.Normalised)
			c.near(t, name+" captured", float64(got.Captured), want.Captured)
			c.near(t, name+" captured at once", float64(got.ZeroDelay), want.Zero)
		}
	}
}

// weighing gives the pages weights.
func weighing(weights []float64) lab.Weights {
	return lab.Weights{Adjust: func(page int, s *freshet.Source) { s.Weight = weights[page] }}
}

func TestOracleWeightedChangeRatio(t *testing.T) {
	for _, c := range oracle(t, "C09") {
		var in struct {
			W       []float64
			Changed []int
		}
		var want struct{ Value, Unweighted float64 }
		c.read(t, &in, &want)
		changes := make([][]int, len(in.W))
		for i, yes := range in.Changed {
			if yes == 1 {
				changes[i] = []int{1}
			}
		}
		s := lab.NewScorer(lab.NewGrid(start, time.Second, 1, changes), weighing(in.W), lab.Measures{})
		for i := range in.W {
			s.Poll(i, 1)
		}
		c.near(t, "weighted ChangeRatio", s.Score().WeightedChangeRatio, want.Value)
		c.near(t, "ChangeRatio", s.Score().ChangeRatio, want.Unweighted)
	}
}

func TestOracleFreshnessOfASet(t *testing.T) {
	for _, c := range oracle(t, "C10") {
		var in struct {
			Items [][2]any
			T     int
			W     []float64
		}
		var want struct {
			Freshness, Age float64
			WFreshness     float64 `json:"weighted_freshness"`
			WAge           float64 `json:"weighted_age"`
		}
		c.read(t, &in, &want)
		changes := make([][]int, len(in.W))
		for i, item := range in.Items {
			if at, ok := item[1].(float64); ok {
				changes[i] = []int{int(at), int(at) + 1}
			}
		}
		got := lab.NewScorer(lab.NewGrid(start, time.Second, 20, changes), weighing(in.W), lab.Measures{}).State(in.T)
		c.near(t, "freshness", got.Freshness, want.Freshness)
		c.near(t, "age", got.Age, want.Age)
		c.near(t, "weighted freshness", got.WeightedFreshness, want.WFreshness)
		c.near(t, "weighted age", got.WeightedAge, want.WAge)
	}
}

func TestOracleDivergence(t *testing.T) {
	for _, c := range oracle(t, "C11") {
		var in struct {
			Source, Polls [][2]float64
			Window        []int
		}
		var want struct {
			Average float64 `json:"time_average"`
		}
		c.read(t, &in, &want)
		var changes, polls []int
		for _, v := range in.Source[1:] {
			changes = append(changes, int(v[0]))
		}
		for _, p := range in.Polls[1:] {
			polls = append(polls, int(p[0]))
		}
		apart := func(_, held, current int) float64 { return math.Abs(in.Source[held][1] - in.Source[current][1]) }
		got := scored(changes, polls, in.Window[1], lab.Weights{}, lab.Measures{Divergence: apart})
		c.near(t, "divergence", got.Divergence, want.Average)
	}
}

// stakesOf reads a life and an urgency as the cases write them.
func stakesOf(t *testing.T, life, urgency string) lab.Weights {
	t.Helper()
	var k lab.Weights
	words := strings.NewReplacer("(", ":", ")", "", "time_window", "window", "change_window", "last", "exponential", "exp", "sliding", "window")
	var err error
	if k.Life, err = objective.ParseVisibilityIn(time.Minute, words.Replace(life)); err != nil {
		t.Fatal(err)
	}
	if k.Urgency, err = objective.ParseUrgencyIn(time.Minute, words.Replace(urgency)); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOracleClairvoyant(t *testing.T) {
	for _, c := range oracle(t, "B11") {
		var in struct {
			Traces [][]int
			W      []float64
		}
		var want map[string]float64
		c.read(t, &in, &want)
		g := lab.NewGrid(start, time.Minute, 10, in.Traces)
		for name, want := range want {
			urgency, budget, equal := "uniform", 0.0, strings.HasPrefix(name, "EDF")
			if _, err := fmt.Sscanf(name[strings.LastIndex(name, "C")+1:], "%g", &budget); err != nil {
				t.Fatal(err)
			}
			if !equal {
				urgency, _, _ = strings.Cut(name, "|")
			}
			k := stakesOf(t, "overwrite", urgency)
			if !equal {
				k.Adjust = weighing(in.W).Adjust
			}
			got, err := g.Limit(budget, k)
			if err != nil {
				t.Fatal(err)
			}
			c.near(t, name, got.Value, want)
			if !got.Exact {
				t.Errorf("%s: %s: the limit %v by %s is not known to be exact", c.ID, name, got.Value, got.Method)
			}
		}
	}
}

// phi returns the gains of a page by the definition.
func phi(pi []float64, w float64, k lab.Weights) lab.Gains {
	span, urgency := k.Life.In(time.Minute), k.Urgency.In(time.Minute)
	return func(at, j int) float64 {
		life := 1.0
		switch span.Kind {
		case objective.VisibleFor:
			if j-at > span.N {
				life = 0
			}
		case objective.VisibleUntilNext, objective.VisibleLast:
			few := make([]float64, max(1, span.N)) // chance of 0, 1 ... changes since
			few[0] = 1
			for q := at + 1; q <= j; q++ {
				for n := len(few) - 1; n >= 0; n-- {
					few[n] *= 1 - pi[q-1]
					if n > 0 {
						few[n] += few[n-1] * pi[q-1]
					}
				}
			}
			life = 0
			for _, p := range few {
				life += p
			}
		}
		return w * pi[at-1] * urgency.At(float64(j-at)) * life
	}
}

func TestOraclePrices(t *testing.T) {
	for _, c := range oracle(t, "B10") {
		var in struct {
			Pi            [][]float64
			W             []float64
			C             float64
			N             int
			Life, Urgency string
		}
		var want struct {
			Bound   float64 `json:"lp_bound"`
			Optimal float64 `json:"optimal_U"`
			Prices  []float64
		}
		c.read(t, &in, &want)
		var pages []lab.Gains
		for i := range in.Pi {
			pages = append(pages, phi(in.Pi[i], in.W[i], stakesOf(t, in.Life, in.Urgency)))
		}
		c.near(t, "bound at the best prices", lab.BoundAt(want.Prices, in.C, pages), want.Bound)
		got, err := lab.LimitOf(in.N, in.C, pages)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value < want.Bound-1e-9 || got.Value > want.Bound*1.001 {
			t.Errorf("%s: the limit found is %v, want %v or at most a thousandth more", c.ID, got.Value, want.Bound)
		}
		if got.Reached > want.Optimal+1e-9 {
			t.Errorf("%s: a schedule is said to reach %v, and the optimum is %v", c.ID, got.Reached, want.Optimal)
		}
	}
}

func TestOracleGap(t *testing.T) {
	for _, c := range oracle(t, "B14") {
		var in struct{ Phi [][][]float64 }
		var want struct {
			Optimum float64 `json:"integer_optimum"`
			Bound   float64 `json:"lp_bound"`
		}
		c.read(t, &in, &want)
		var pages []lab.Gains
		for _, table := range in.Phi {
			pages = append(pages, func(k, j int) float64 { return table[k-1][j] })
		}
		got, err := lab.LimitOf(5, 1, pages)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value < want.Bound-1e-9 || got.Value > want.Bound*1.001 || got.Exact {
			t.Errorf("%s: the limit found is %+v, want %v or at most a thousandth more, and not exact", c.ID, got, want.Bound)
		}
		if got.Reached > want.Optimum {
			t.Errorf("%s: a schedule is said to reach %v, and the optimum is %v", c.ID, got.Reached, want.Optimum)
		}
	}
}
