package lab_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/learn/outlook"
)

// truth scores polls the slow way: change by change and moment by moment.
type truth struct {
	captured, zero, found             int
	utility, fresh, ageFirst, ageLast float64
	delays                            []int
}

func truthOf(g *lab.Grid, polls map[int][]int, life objective.Span, urgency objective.Decay) (s truth) {
	const fine = 64 // moments an instant
	for page := range g.Pages() {
		changes := g.Of(page)
		var at []int
		for j := 1; j <= g.Instants; j++ {
			if slices.Contains(polls[j], page) {
				at = append(at, j)
			}
		}
		for c, k := range changes {
			i := slices.IndexFunc(at, func(j int) bool { return j >= int(k) })
			if i < 0 {
				continue
			}
			after := 0
			for _, other := range changes[c+1:] {
				if int(other) <= at[i] {
					after++
				}
			}
			if delay := at[i] - int(k); life.Lasts(delay, after) {
				s.captured++
				s.utility += urgency.At(float64(delay))
				s.delays = append(s.delays, delay)
				if delay == 0 {
					s.zero++
				}
			}
		}
		prev := 0
		for _, j := range at {
			if slices.ContainsFunc(changes, func(k int32) bool { return int(k) > prev && int(k) <= j }) {
				s.found++
			}
			prev = j
		}
		for m := range g.Instants * fine {
			now := (float64(m) + .5) / fine
			seen := 0
			for _, j := range at {
				if float64(j) <= now {
					seen = j
				}
			}
			first, last := -1.0, -1.0
			for _, k := range changes {
				if int(k) > seen && float64(k) <= now {
					if first < 0 {
						first = float64(k)
					}
					last = float64(k)
				}
			}
			if first < 0 {
				s.fresh++
			} else {
				s.ageFirst += now - first
				s.ageLast += now - last
			}
		}
	}
	all := float64(len(g.Pages()) * g.Instants * fine)
	s.fresh, s.ageFirst, s.ageLast = s.fresh/all, s.ageFirst/all, s.ageLast/all
	return s
}

// The scorer agrees with the slow way, and a replay with the scorer.
func TestScoresAgreeWithTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGrid(t)
		k := parsed(t, rapid.SampledFrom(lives).Draw(t, "life"), rapid.SampledFrom(urgencies).Draw(t, "urgency"))
		polls := randomPolls(t, g)
		want := truthOf(g, polls, k.Life.In(g.Instant), k.Urgency.In(g.Instant))
		var got [2]lab.Score
		for i, age := range []lab.Age{lab.AgeFirst, lab.AgeLast} {
			script := &script{grid: g, polls: map[int][]int{}}
			for j, pages := range polls {
				script.polls[j] = pages
			}
			var err error
			got[i], err = lab.Replay(t.Context(), g, script, lab.Options{Budget: 10, Weights: k, Measures: lab.Measures{Age: age}})
			if err != nil {
				t.Fatal(err)
			}
		}
		s := got[0]
		if s.Captured != want.captured || s.ZeroDelay != want.zero || s.Found != want.found {
			t.Fatalf("captured %d, at once %d, found %d; want %d, %d and %d", s.Captured, s.ZeroDelay, s.Found, want.captured, want.zero, want.found)
		}
		seconds := g.Instant.Seconds()
		for _, m := range []struct {
			what      string
			got, want float64
		}{
			{"utility", s.Utility, want.utility},
			{"freshness", s.Freshness, want.fresh},
			{"age from the first change", s.AgeSeconds, want.ageFirst * seconds},
			{"age from the last change", got[1].AgeSeconds, want.ageLast * seconds},
		} {
			if math.Abs(m.got-m.want) > 1e-9*seconds {
				t.Fatalf("%s is %v, want %v", m.what, m.got, m.want)
			}
		}
		if len(want.delays) > 0 {
			slices.Sort(want.delays)
			if median := want.delays[(len(want.delays)-1)/2]; s.DelayP50 != median {
				t.Fatalf("the median delay is %d, want %d", s.DelayP50, median)
			}
			if most := want.delays[len(want.delays)-1]; s.DelayQuantile(1) != most || s.Late(most+1) != 0 || s.Late(0) != 1 {
				t.Fatalf("the longest delay is %d, want %d", s.DelayQuantile(1), most)
			}
		}
	})
}

func TestFairness(t *testing.T) {
	g := lab.NewGrid(start, 1, 5, [][]int{{1}, {2}, {3, 4}, {}})
	s := lab.NewScorer(g, lab.Weights{}, lab.Measures{})
	s.Poll(0, 5)
	s.Poll(3, 5)
	if f := s.Score().Fairness; math.Abs(f-1.0/3) > 1e-12 {
		t.Errorf("fairness %v, want a third: of three pages that change, one was polled", f)
	}
}

// The ChangeRatio is of polls that found their page changed: a poll that captures
// several changes of one page counts once.
func TestChangeRatioCountsPages(t *testing.T) {
	g := lab.NewGrid(start, time.Minute, 10, [][]int{{1, 2, 3}, {2}})
	s := lab.NewScorer(g, lab.Weights{Life: objective.Visibility{Kind: objective.VisibleForever}}, lab.Measures{})
	s.Poll(0, 4)
	s.Poll(1, 1)
	s.Poll(1, 5)
	s.Poll(0, 6)
	if r := s.Score(); r.Captured != 4 || r.Found != 2 || r.ChangeRatio != 0.5 || r.WeightedChangeRatio != 0.5 {
		t.Errorf("%d changes captured by %d of %d polls: ratio %v, weighted %v; want 4 by 2 of 4, and 0.5",
			r.Captured, r.Found, r.Polls, r.ChangeRatio, r.WeightedChangeRatio)
	}
}

// A poll counts as much as its page weighs, whether it found a change, found none or
// failed; and fewer heavy polls that find something outweigh many light ones that do not.
func TestWeightedChangeRatio(t *testing.T) {
	g := lab.NewGrid(start, time.Minute, 10, [][]int{{1, 5}, {2}, {9}})
	weights := []float64{5, 3, 2}
	s := lab.NewScorer(g, lab.Weights{Adjust: func(page int, x *freshet.Source) { x.Weight = weights[page] }}, lab.Measures{})
	for _, p := range [][2]int{{0, 1}, {0, 3}, {0, 6}, {1, 1}, {1, 4}, {2, 5}} {
		s.Poll(p[0], p[1])
	}
	r := s.Score()
	if want := 3.0 / 6; r.ChangeRatio != want {
		t.Errorf("ChangeRatio %v, want %v", r.ChangeRatio, want)
	}
	if want := (5.0 + 5 + 3) / (3*5 + 2*3 + 2); math.Abs(r.WeightedChangeRatio-want) > 1e-12 {
		t.Errorf("weighted ChangeRatio %v, want %v", r.WeightedChangeRatio, want)
	}
}

// Divergence by values is what the copy is off by, over time; by changes it is how
// many the copy lacks.
func TestDivergenceOfValues(t *testing.T) {
	g := lab.NewGrid(time.Unix(0, 0), time.Second, 10, [][]int{{4, 6}})
	file := filepath.Join(t.TempDir(), "values.csv")
	text := fmt.Sprintf("page,time,value\n%[1]s,0,100\n%[1]s,4,103\nother,4,1\n%[1]s,6,101\n", g.Pages()[0])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	values, err := lab.ReadValues(file, g, outlook.Absolute)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := lab.ReadValues(file, g, outlook.Relative)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		of   func(page, held, current int) float64
		want float64
	}{{"values", values, (3*1 + 2*4) / 10.0}, {"parts of values", parts, (3.0/103 + 2*4.0/103) / 10}, {"changes", lab.ChangesBehind, (1 + 4) / 10.0}} {
		s := lab.NewScorer(g, lab.Weights{}, lab.Measures{Divergence: tt.of})
		s.Poll(0, 5)
		if got := s.Score().Divergence; math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("divergence by %s is %v, want %v", tt.name, got, tt.want)
		}
	}
	for text, want := range map[string]string{
		"page,time\n":                "",
		"page,when,value\n":          "line 1, column 1: the header has to be",
		"page,time,value\na,x,1\n":   `line 2, column 3: the time "x"`,
		"page,time,value\na,1,x\n":   `line 2, column 5: the value "x" is not a number`,
		"page,time,value\na,1,Inf\n": `the value "Inf" is not a number`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lab.ReadValues(file, g, outlook.Absolute); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives the error %v, want %q in it", text, err, want)
		}
	}
}
