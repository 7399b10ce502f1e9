package paper_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/paper"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// samplingDoubts are the claims that the generated sets do not bear out, by
// how they begin. The report says why.
var samplingDoubts = []string{
	"theorem 2: the best sample size is about",
	"figure 6: proportional does about as well as frequency",
	"figure 9: with 5,000 downloads",
	"figure 11: the smaller k",
	"section 4.8: both end at around 0.82",

	// With a quarter of the sites chance has more of a say.
	"figure 7: for all sample sizes",
	"section 4.3: greedy varies more",
	"figure 9: subsets are better",
	"figure 13: fairness rises steadily",
}

func doubted(c paper.Claim) bool {
	return slices.ContainsFunc(samplingDoubts, func(d string) bool { return strings.HasPrefix(c.Where+": "+c.Claim, d) })
}

func runSampling(t *testing.T, list []paper.Experiment, seed uint64) []paper.Done {
	t.Helper()
	done, err := paper.Run(t.Context(), list, paper.Options{Seed: seed, Quick: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// samplingAt returns the experiments of those places in the paper.
func samplingAt(list []paper.Experiment, where ...string) []paper.Experiment {
	return slices.DeleteFunc(slices.Clone(list), func(e paper.Experiment) bool { return !slices.Contains(where, e.Where) })
}

func TestClaimsOnSamplingAtSmallSize(t *testing.T) {
	tier.Slow(t, "it runs experiments")
	done := runSampling(t, paper.Experiments(paper.Sampling), 1)
	if len(done) != 11 {
		t.Errorf("%d experiments, want 11", len(done))
	}
	for _, d := range done {
		if len(d.Claims) == 0 || len(d.SVGs) == 0 || d.Title == "" || !strings.Contains(d.About, "seed 1") {
			t.Errorf("%s lacks a title, a picture, a claim or its seed", d.Where)
		}
		for _, c := range d.Claims {
			if !c.Holds && !doubted(c) {
				t.Errorf("%s: %s: expected %s, measured %s", c.Where, c.Claim, c.Expected, c.Measured)
			}
			if !c.Holds && c.Why == "" {
				t.Errorf("%s: %s does not hold and nothing says why", c.Where, c.Claim)
			}
			if c.Paper != paper.Sampling || c.Expected == "" || c.Measured == "" {
				t.Errorf("%s: %s lacks what is expected or measured", c.Where, c.Claim)
			}
		}
	}
}

func TestSamplingGivesTheSameBytesForASeed(t *testing.T) {
	tier.Slow(t, "it runs experiments")
	list := samplingAt(paper.Experiments(paper.Sampling), "figure 1", "figure 6", "figures 13 and 14")
	figures := func(seed uint64) (f []paper.Figure) {
		for _, d := range runSampling(t, list, seed) {
			f = append(f, d.Figure)
		}
		return f
	}
	first := figures(7)
	if diff := cmp.Diff(first, figures(7)); diff != "" {
		t.Errorf("the same seed gave something else:\n%s", diff)
	}
	if cmp.Equal(first, figures(8)) {
		t.Errorf("another seed gave the same")
	}
}

// The sizes of theorem 2, as printed and derived again, for sites spread evenly
// over [0, 1].
func TestSampleSizesOfTheorem2(t *testing.T) {
	for _, row := range []struct{ pages, ratio, printed, corrected float64 }{
		{100, 0.05, 1.324532357, 2.294157339},
		{100, 0.8, 11.547005384, 20.000000000},
		{400, 0.5, 11.547005384, 20.000000000},
		{1000, 0.283, 11.470253404, 19.867061672},
		{1400, 0.2, 10.801234497, 18.708286934},
		{10000, 0.1, 19.245008973, 33.333333333},
	} {
		threshold := 1 - row.ratio
		if got := paper.PrintedSampleSize(row.pages, row.ratio, 1, 1-row.ratio/2, 0.5); math.Abs(got-row.printed) > 1e-6 {
			t.Errorf("%v pages at %v: the printed size is %v, want %v", row.pages, row.ratio, got, row.printed)
		}
		if got := paper.CorrectedSampleSize(row.pages, row.ratio, 1, threshold, threshold/2); math.Abs(got-row.corrected) > 1e-6 {
			t.Errorf("%v pages at %v: the corrected size is %v, want %v", row.pages, row.ratio, got, row.corrected)
		}
	}
}

// Verdicts are worth something only if they turn when the wrong thing is run.
func TestVerdictsOnSamplingTurn(t *testing.T) {
	tier.Slow(t, "it runs experiments")
	// The textbook interval has no width at 0 of n and at n of n.
	wald := func(changed, sampled, _ int, alpha float64) policy.Interval {
		p := float64(changed) / float64(sampled)
		half := math.Sqrt2 * math.Erfinv(alpha) * math.Sqrt(p*(1-p)/float64(sampled))
		return policy.Interval{Low: max(0, p-half), High: min(1, p+half)}
	}
	printed := func(pages, ratio, density, threshold, below float64) float64 {
		return paper.PrintedSampleSize(pages, ratio, density, 1, 0.5)
	}
	for _, test := range []struct {
		name  string
		list  []paper.Experiment
		where string
		turns []string
	}{
		{"proportional under the name of greedy", paper.SamplingExperimentsWith(policy.ShareProportional, nil, nil), "figure 1",
			[]string{"example 2: proportional downloads", "theorem 1: no way", "figure 1: greedy does best with about 5"}},
		{"proportional under the name of greedy", paper.SamplingExperimentsWith(policy.ShareProportional, nil, nil), "figure 6",
			[]string{"figure 6: greedy and adaptive reach", "figure 6: greedy is better than proportional"}},
		{"proportional under the name of greedy", paper.SamplingExperimentsWith(policy.ShareProportional, nil, nil), "figure 15",
			[]string{"figure 15: greedy reaches 0.82", "figure 15: greedy is better than round-robin"}},
		{"an interval without width", paper.SamplingExperimentsWith(nil, wald, nil), "figures 11 and 12",
			[]string{"figure 12: because then a site is picked after only 2"}},
		{"the printed formula as the corrected one", paper.SamplingExperimentsWith(nil, nil, printed), "theorem 2",
			[]string{"theorem 2: corrected"}},
	} {
		var failed []string
		for _, d := range runSampling(t, samplingAt(test.list, test.where), 1) {
			for _, c := range d.Claims {
				if !c.Holds {
					failed = append(failed, c.Where+": "+c.Claim)
				}
			}
		}
		for _, want := range test.turns {
			if !slices.ContainsFunc(failed, func(f string) bool { return strings.HasPrefix(f, want) }) {
				t.Errorf("with %s, %q still holds", test.name, want)
			}
		}
	}
}

// Recorded sites are added where there are any, and are missed where not.
func TestSamplingWithoutTheTracesThatItKnows(t *testing.T) {
	list := samplingAt(paper.Experiments(paper.Sampling), "figure 6")
	done, err := paper.Run(t.Context(), list, paper.Options{Seed: 1, Quick: true, Traces: t.TempDir()}, nil)
	if err != nil {
		t.Fatalf("an empty folder of traces: %v", err)
	}
	if n := len(done[0].SVGs); n != 1 {
		t.Errorf("%d pictures without any trace, want 1", n)
	}
}

// A trace of sites that differ is read in cycles, and sampling finds out which
// change every week and which once in twenty.
func TestSamplingOfRecordedSites(t *testing.T) {
	tier.Slow(t, "it runs experiments")
	const sites, pages, weeks = 25, 80, 20
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	h := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for i := range sites * pages {
			id := freshet.SourceID(fmt.Sprintf("site%d.test/%d", i%sites, i/sites))
			for week := range weeks {
				if often := i%sites%5 == 0; (often || i/sites%weeks == week) && !yield(id, start.AddDate(0, 0, 7*week+1)) {
					return
				}
			}
		}
	})
	dir := t.TempDir()
	if err := h.WriteFile(filepath.Join(dir, "telegram-web.csv.gz")); err != nil {
		t.Fatal(err)
	}
	list := samplingAt(paper.Experiments(paper.Sampling), "figure 6")
	done, err := paper.Run(t.Context(), list, paper.Options{Seed: 1, Quick: true, Traces: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for _, c := range done[0].Claims {
		if strings.Contains(c.Where, "recorded telegram-web") {
			recorded++
			if !c.Holds && strings.HasPrefix(c.Claim, "greedy") {
				t.Errorf("%s: %s: expected %s, measured %s", c.Where, c.Claim, c.Expected, c.Measured)
			}
		}
	}
	if recorded != 4 || len(done[0].SVGs) != 2 {
		t.Errorf("%d claims and %d pictures of recorded sites, want 4 and 2 with that of the generated ones", recorded, len(done[0].SVGs))
	}
}
