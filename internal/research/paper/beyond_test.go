package paper_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/baselines"
	"freshet/internal/research/paper"
	"freshet/internal/sched/cyclic"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

var beyondQuick = paper.Options{Seed: 1, Quick: true}

// runBeyond runs the experiment on a question.
func runBeyond(t *testing.T, list []paper.Experiment, where string) paper.Figure {
	t.Helper()
	i := slices.IndexFunc(list, func(e paper.Experiment) bool { return strings.HasPrefix(e.Where, where) })
	f, err := list[i].Run(t.Context(), beyondQuick)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// verdict returns whether the claim that begins so holds.
func verdict(t *testing.T, f paper.Figure, claim string) bool {
	t.Helper()
	i := slices.IndexFunc(f.Claims, func(c paper.Claim) bool { return strings.HasPrefix(c.Claim, claim) })
	if i < 0 {
		t.Fatalf("there is no claim %q", claim)
	}
	return f.Claims[i].Holds
}

// sureOfBeyond are the findings that stand already at small size.
var sureOfBeyond = []string{
	"When should one move", "Does it depend on how alike",
	"Is it better to sample by directory", "Is it better to sample by kind", "And by groups that are learned",
	"Is the copy also fresher",
	"Where messages are spread evenly", "What does the assumption cost", "Does a plan from the history",
	"How near is WIC", "What is the knowledge worth", "Does it pay to learn at all", "Does WIC stay ahead",
	"Which of today's products", "Does a policy that knows the budget", "Do they use the budget",
	"Where late is worth less", "What does WIC lose",
	"Who finds most changes on sites",
	"Do plans by the hour", "How near does auto come",
}

// TestBeyond runs every experiment beyond the papers at small size.
func TestBeyond(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it runs experiments")
	found := map[string]bool{}
	for _, e := range paper.Experiments(paper.Beyond) {
		f, err := e.Run(t.Context(), beyondQuick)
		if err != nil {
			t.Fatalf("%s: %v", e.Where, err)
		}
		if len(f.Claims) == 0 || len(f.SVGs) == 0 || !strings.Contains(f.About, "Seed 1.") {
			t.Errorf("%s has %d claims and %d pictures, and is about %q", e.Where, len(f.Claims), len(f.SVGs), f.About)
		}
		for _, c := range f.Claims {
			if c.Paper != paper.Beyond || c.Where != e.Where || c.Expected == "" || c.Measured == "" || c.Kind != paper.Question || strings.Contains(c.Measured, "%!") {
				t.Errorf("the claim %+v is not whole", c)
			}
			for _, sure := range sureOfBeyond {
				if strings.HasPrefix(c.Claim, sure) {
					found[sure] = true
					if !c.Holds {
						t.Errorf("%s: %s: %s", e.Where, c.Claim, c.Measured)
					}
				}
			}
		}
	}
	for _, sure := range sureOfBeyond {
		if !found[sure] {
			t.Errorf("nobody asks %q", sure)
		}
	}
}

// The same seed gives the same figure, to the byte.
func TestBeyondIsRepeatable(t *testing.T) {
	t.Parallel()
	tier.Long(t, "it runs experiments again")
	for _, where := range []string{"question 4", "question 6"} {
		list := paper.Experiments(paper.Beyond)
		if diff := cmp.Diff(runBeyond(t, list, where), runBeyond(t, list, where)); diff != "" {
			t.Errorf("two runs of %s differ:\n%s", where, diff)
		}
	}
}

// Another policy under the same label turns the verdict.
func TestBeyondSeesThroughLabels(t *testing.T) {
	t.Parallel()
	tier.Long(t, "it runs experiments again")
	swap := func(from, to string) []paper.Experiment {
		return paper.BeyondWith(func(name string, at policy.Setting) (freshet.Policy, error) {
			if base, _, _ := strings.Cut(name, ":"); base == from {
				name = to
			}
			return baselines.New(name, at)
		})
	}
	if f := runBeyond(t, swap("wic", "miniflux"), "question 5"); verdict(t, f, "How near is WIC") || verdict(t, f, "Does WIC stay ahead") {
		t.Error("polls of another policy pass for those of WIC")
	}
	if f := runBeyond(t, swap("wic", "uniform"), "question 7"); verdict(t, f, "What does WIC lose") {
		t.Error("uniform polls pass for those of WIC")
	}
	if f := runBeyond(t, swap("auto", "uniform"), "question 9"); verdict(t, f, "How near does auto come") {
		t.Error("uniform polls pass for those of auto on airports")
	}
	if f := runBeyond(t, swap("auto", "uniform"), "question 8"); verdict(t, f, "Who finds most changes on sites") || verdict(t, f, "Does auto find as many changes") {
		t.Error("uniform polls pass for those of auto on sites")
	}
	f, err := paper.Groupings(t.Context(), beyondQuick, func(name string, c policy.SamplingConfig) freshet.Policy {
		if name == "directory" {
			name = "kind of content"
		}
		return paper.GroupedSampling(name, c)
	})
	if err != nil {
		t.Fatal(err)
	}
	if verdict(t, f, "Is it better to sample by directory") {
		t.Error("sampling by kind passes for sampling by directory")
	}
	if f, err := paper.Shapes(t.Context(), beyondQuick, true); err != nil || verdict(t, f, "Does a plan from the history") {
		t.Errorf("uniform polls pass for the optimal plan (%v)", err)
	}
}

// The plan for age is younger, on the history that it was made from, than any
// other plan.
func TestPlanForAgeIsTheYoungest(t *testing.T) {
	t.Parallel()
	var changes []int
	for hour := range 50 {
		changes = append(changes, hour*60+5+hour%7, hour*60+20+hour*hour%11)
	}
	g := lab.NewGrid(time.Unix(0, 0), time.Minute, 50*60, [][]int{changes})
	age := func(offsets []int) float64 {
		s := lab.NewScorer(g, lab.Weights{}, lab.Measures{})
		for j := 1; j <= g.Instants; j++ {
			if slices.Contains(offsets, (j-1)%60) {
				s.Poll(0, j)
			}
		}
		return s.Score().AgeSeconds
	}
	planned := age(paper.PlanForAge(cyclic.Timeline{Pages: [][]int{changes}}, 2))
	for a := range 60 {
		for b := range a {
			// The history ends where the strategy goes on, which may be worth
			// a moment.
			if other := age([]int{a, b}); other < planned*.99 {
				t.Fatalf("polls at %d and %d are %.1f s old, and the plan %.1f s", b, a, other, planned)
			}
		}
	}
}
