package paper_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/baselines"
	"freshet/internal/research/generate"
	"freshet/internal/research/paper"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// wicRun runs experiments on WIC at small size; those at some places alone, if
// any are named.
func wicRun(t *testing.T, list []paper.Experiment, s paper.Options, places ...string) []paper.Done {
	t.Helper()
	if len(places) > 0 {
		list = slices.DeleteFunc(list, func(e paper.Experiment) bool { return !slices.Contains(places, e.Where) })
	}
	s.Seed, s.Quick = 1, true
	done, err := paper.Run(t.Context(), list, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// wicVerdicts returns whether claims hold, by place and wording.
func wicVerdicts(done []paper.Done) map[string]bool {
	verdicts := map[string]bool{}
	for _, d := range done {
		for _, c := range d.Claims {
			verdicts[c.Where+": "+c.Claim] = c.Holds
		}
	}
	return verdicts
}

// wicMust are the claims that hold at small size too.
var wicMust = []string{
	"section 3.3: WIC is optimal where only captures at once count: overwrite, r = 0",
	"section 3.3: WIC has at least 1/(1+a) of the optimum: overwrite, r = 1",
	"section 3.3: WIC has at least 1/(1+a) of the optimum: append, r = 1",
	"section 4: timeliness only captures the changes of the special page, all at once",
	"section 4: completeness only captures most changes of the other pages too",
	"section 4: completeness only captures at most so many at once",
	"section 4: each of the two aims costs the other",
	"section 4: WIC with r = 0 finds the best schedule for timeliness",
	"section 4: urgency is a knob between timeliness and completeness",
	"figure 4: with r = 0, changes that are not captured in their instant are of no value",
	"figure 4: with r = 1, timeliness has no bearing",
	"figure 4: r tunes the balance: the larger, the more late captures are worth",
	"figure 5: utility falls as the spread grows",
	"figure 5: how much spread costs depends on life and urgency",
	"figure 5: the chances of a change peak at about a tenth at sigma = 4, and well below at sigma = 5",
	"figure 6: utility falls as false positives and negatives grow",
	"figure 6: how much false chances cost depends on life and urgency",
	"figure 7: more changes are captured as C grows, with every urgency",
	"figure 7: more changes are captured as r grows",
	"figure 7, overwrite: the results are similar if changes overwrite",
	"figure 8: with r = 1 few captured changes are captured at once",
	"figure 9: the larger r, the fewer changes are captured at once",
	"section 5.4: WIC does no worse than CAM with any budget",
	"section 5.4: WIC is up to twice as good as CAM",
}

// Every figure is drawn, every verdict against the paper has a reason, what
// must hold does, and a second run gives the same bytes.
func TestWIC(t *testing.T) {
	tier.Slow(t, "it runs experiments")
	done := wicRun(t, paper.Experiments(paper.WIC), paper.Options{})
	verdicts := wicVerdicts(done)
	for _, claim := range wicMust {
		if holds, made := verdicts[claim]; !made || !holds {
			t.Errorf("%q is claimed: %t, and holds: %t", claim, made, holds)
		}
	}
	for _, d := range done {
		if len(d.SVGs) == 0 || len(d.Claims) == 0 || !strings.Contains(strings.ToLower(d.About), "seed 1") {
			t.Errorf("%s has %d pictures, %d claims, and says %q", d.Where, len(d.SVGs), len(d.Claims), d.About)
		}
		for _, c := range d.Claims {
			if c.Paper != paper.WIC || c.Expected == "" || c.Measured == "" || !c.Holds && c.Why == "" {
				t.Errorf("a claim says too little: %+v", c)
			}
			if strings.Contains(c.Measured, "NaN") || strings.Contains(c.Measured, "Inf") {
				t.Errorf("%s, %s: measured %s", c.Where, c.Claim, c.Measured)
			}
		}
	}
	for _, second := range wicRun(t, paper.Experiments(paper.WIC), paper.Options{}, "section 3.3", "section 4", "figure 6", "figure 8", "figure 9", "section 5.4") {
		first := done[slices.IndexFunc(done, func(d paper.Done) bool { return d.Where == second.Where })]
		if diff := cmp.Diff(first.Figure, second.Figure); diff != "" {
			t.Errorf("%s is different the second time:\n%s", second.Where, diff)
		}
	}
}

// With another policy under its label, the verdicts on WIC turn.
func TestWICVerdictsTurn(t *testing.T) {
	tier.Slow(t, "it runs experiments")
	wic := func(g *lab.Grid, _ float64, e freshet.Estimator) freshet.Policy {
		return policy.NewWIC(policy.WICConfig{Start: g.Start, Instant: g.Instant, Estimator: e})
	}
	cam := func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy {
		return baselines.NewCAM(baselines.CAMConfig{Start: g.Start, Instant: g.Instant, Epoch: g.Instants, Polls: polls, Estimator: e})
	}
	blind := func(*lab.Grid, float64, freshet.Estimator) freshet.Policy { return &policy.Uniform{} }
	tests := []struct {
		name     string
		wic, cam func(*lab.Grid, float64, freshet.Estimator) freshet.Policy
		places   []string
		turned   []string
	}{
		{"the two swapped", cam, wic, []string{"section 5.4"}, []string{
			"section 5.4: WIC does no worse than CAM with any budget",
			"section 5.4: WIC is up to twice as good as CAM",
		}},
		{"a policy that looks at nothing", blind, cam, []string{"section 3.3", "section 4", "figure 5", "figure 7", "figure 9"}, []string{
			"section 3.3: WIC is optimal where only captures at once count: overwrite, r = 0",
			"section 4: WIC with r = 0 finds the best schedule for timeliness",
			"section 4: urgency is a knob between timeliness and completeness",
			"figure 5: utility falls as the spread grows",
			"figure 7: more changes are captured as r grows",
			"figure 9: the larger r, the fewer changes are captured at once",
		}},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			verdicts := wicVerdicts(wicRun(t, paper.WICExperimentsOf(x.wic, x.cam), paper.Options{}, x.places...))
			for _, claim := range x.turned {
				if holds, made := verdicts[claim]; !made || holds {
					t.Errorf("%q is claimed: %t, and holds: %t", claim, made, holds)
				}
			}
		})
	}
}

// Recorded auctions are added where they are at hand, and a file that is none
// is refused.
func TestWICRecorded(t *testing.T) {
	tier.Slow(t, "it runs experiments")
	dir := t.TempDir()
	file := filepath.Join(dir, "ebay-palm.csv.gz")
	h, err := generate.New(generate.Spec{Kind: "auction", Seed: 3, Pages: 80, Start: time.Date(2003, 1, 1, 0, 0, 0, 0, time.UTC), Length: 7 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	places := []string{"figure 8", "section 5.4"}
	alone := wicRun(t, paper.Experiments(paper.WIC), paper.Options{Traces: t.TempDir()}, places...)
	both := wicRun(t, paper.Experiments(paper.WIC), paper.Options{Traces: dir}, places...)
	for i, d := range both {
		recorded := slices.DeleteFunc(slices.Clone(d.Claims), func(c paper.Claim) bool { return !strings.HasSuffix(c.Where, "ebay-palm (real)") })
		if n := len(alone[i].Claims); len(recorded) != n || len(d.Claims) != 2*n || len(d.SVGs) != 2*len(alone[i].SVGs) {
			t.Errorf("%s makes %d claims and %d pictures, %d of the claims on recorded auctions; without them it makes %d and %d",
				d.Where, len(d.Claims), len(d.SVGs), len(recorded), n, len(alone[i].SVGs))
		}
	}
	if err := os.WriteFile(file, []byte("no trace"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := paper.Run(t.Context(), paper.Experiments(paper.WIC), paper.Options{Quick: true, Traces: dir}, nil); err == nil {
		t.Error("a file that is no trace is taken for one")
	}
}
