package paper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/research/paper"
)

const evilWords = `<script>alert("x")</script>&]]>`

// sample returns a report on made-up experiments.
func sampleReport() paper.Report {
	claim := paper.Claim{Paper: paper.WIC, Where: evilWords, Claim: evilWords, Expected: evilWords, Measured: evilWords, Why: evilWords}
	good, turns, own := claim, claim, claim
	claim.Kind, claim.Seeds = paper.OfPaper, 5
	good.Kind, good.Holds, good.Seeds, good.Held = paper.OfPaper, true, 5, 5
	turns.Kind, turns.Seeds, turns.Held, turns.Apart = paper.Recorded, 5, 4, evilWords
	own.Paper, own.Kind, own.Holds, own.Seeds, own.Held = paper.Beyond, paper.Question, true, 1, 1
	return paper.Report{
		Setting: paper.Options{Seed: 7, Seeds: 5, Quick: true},
		Done: []paper.Done{
			{Experiment: paper.Experiment{Paper: paper.WIC, Where: evilWords}, Figure: paper.Figure{
				Title: evilWords, About: evilWords, SVGs: []string{"<svg id=\"drawn\"></svg>"},
				Tables: []paper.Table{{Head: []string{evilWords}, Rows: [][]string{{evilWords}, {"12.5%"}}}},
				Claims: []paper.Claim{good, claim, turns},
			}},
			{Experiment: paper.Experiment{Paper: paper.Beyond, Where: "question 1"}, Figure: paper.Figure{Title: "second", Claims: []paper.Claim{own}}},
		},
	}
}

func written(t *testing.T, r paper.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportShowsTextAsText(t *testing.T) {
	page := written(t, sampleReport())
	if strings.Contains(page, "<script") {
		t.Error("the report runs what a claim says")
	}
	for _, want := range []string{`<svg id="drawn">`, "workloads like theirs</strong>: 1 of 2 hold; 1 do not hold.", "recorded histories</strong>: 0 of 1 hold; 1 turn with the seed.", "questions of our own</strong>: 1 of 1 hold.", "5 seeds, from 7 on", "~ holds in 4 of 5 seeds", "small sizes", `class="n">12.5%`, "✗ does not hold", "✓ holds"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if page != written(t, sampleReport()) {
		t.Error("the same report is written in two ways")
	}
}

// A report works from a file, without a network.
func TestReportNeedsNothingBesideItself(t *testing.T) {
	page := written(t, sampleReport())
	for _, bad := range []string{"<link", "src=", "@import", "url(", "http://", "https://"} {
		if strings.Contains(page, bad) {
			t.Errorf("the report has %q in it", bad)
		}
	}
}

func TestReportLinksLead(t *testing.T) {
	page := written(t, sampleReport())
	for i, part := range strings.Split(page, `href="#`) {
		if name, _, _ := strings.Cut(part, `"`); i > 0 && !strings.Contains(page, `id="`+name+`"`) {
			t.Errorf("a link leads to #%s, which is not there", name)
		}
	}
}

func TestReportWantsClaims(t *testing.T) {
	r := sampleReport()
	r.Done[1].Claims = nil
	if err := r.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "question 1 has no claims") {
		t.Errorf("a figure without claims gives the error %v", err)
	}
}

func TestClaimsAreAListForPrograms(t *testing.T) {
	text, err := json.Marshal(paper.Report{}.Claims())
	if err != nil || string(text) != "[]" {
		t.Errorf("no claims are written as %s (%v)", text, err)
	}
	text, err = json.Marshal(sampleReport().Claims()[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"paper", "where", "claim", "expected", "measured", "holds", "kind", "seeds", "held_in"} {
		if !strings.Contains(string(text), `"`+key+`":`) {
			t.Errorf("a claim has no %s: %s", key, text)
		}
	}
}

func TestReportKeepsTheOrderOfTheList(t *testing.T) {
	var list []paper.Experiment
	for i, where := range []string{"a", "b", "c", "d"} {
		list = append(list, paper.Experiment{Paper: paper.WIC, Where: where, Cost: i * 10, Run: func(context.Context, paper.Options) (paper.Figure, error) {
			return paper.Figure{Title: where}, nil
		}})
	}
	told := 0
	r, err := paper.NewReport(t.Context(), list, paper.Options{}, func(paper.Experiment) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, d := range r.Done {
		got += d.Where + d.Title + " "
	}
	if got != "aa bb cc dd " || told != 4 {
		t.Errorf("the report has %s, and %d experiments were told of", got, told)
	}
	if least := paper.Estimate(list, paper.Options{}); least.Seconds() < 30 || least.Seconds() > 60 {
		t.Errorf("experiments of 0, 10, 20 and 30 seconds are said to take %v", least)
	}
	broken := errors.New("broken")
	list[2].Run = func(context.Context, paper.Options) (paper.Figure, error) { return paper.Figure{}, broken }
	if _, err := paper.NewReport(t.Context(), list, paper.Options{}, nil); !errors.Is(err, broken) || !strings.Contains(err.Error(), "wic, c") {
		t.Errorf("an experiment that fails gives %v", err)
	}
}

// A claim is held against every seed, and the report says where it turns.
func TestVerdictsOverSeeds(t *testing.T) {
	var seeds []uint64
	var mu sync.Mutex
	drawn := paper.Experiment{Paper: paper.WIC, Where: "drawn", Cost: 1, Run: func(_ context.Context, s paper.Options) (paper.Figure, error) {
		mu.Lock()
		seeds = append(seeds, s.Seed)
		mu.Unlock()
		claim := func(words string, holds bool) paper.Claim {
			return paper.Claim{Paper: paper.WIC, Where: "drawn", Claim: words, Measured: fmt.Sprint("seed ", s.Seed), Holds: holds, Why: fmt.Sprint("why ", s.Seed)}
		}
		return paper.Figure{Title: fmt.Sprint("seed ", s.Seed), Claims: []paper.Claim{claim("always", true), claim("never", false), claim("not with 5", s.Seed != 5), claim("with 5 alone", s.Seed == 5)}}, nil
	}}
	runs := 0
	fixed := paper.Experiment{Paper: paper.WIC, Where: "fixed", Fixed: true, Run: func(context.Context, paper.Options) (paper.Figure, error) {
		runs++
		return paper.Figure{Claims: []paper.Claim{{Paper: paper.WIC, Where: "fixed", Holds: true}}}, nil
	}}
	list := []paper.Experiment{fixed, drawn}
	r, err := paper.NewReport(t.Context(), list, paper.Options{Seed: 3, Seeds: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(seeds)
	if runs != 1 || !slices.Equal(seeds, []uint64{3, 4, 5, 6}) || paper.Runs(list, r.Setting) != 5 {
		t.Errorf("the fixed experiment ran %d times, the other with seeds %v; %d runs were announced", runs, seeds, paper.Runs(list, r.Setting))
	}
	if r.Done[1].Title != "seed 3" {
		t.Errorf("the figure is that of %s, want the first seed", r.Done[1].Title)
	}
	var got []string
	for _, c := range r.Claims() {
		got = append(got, fmt.Sprintf("%s: %s, %v, %s, %s", c.Claim, c.Verdict(), c.Holds, c.Apart, c.Why))
	}
	want := []string{
		": holds, true, , ",
		"always: holds, true, , why 3",
		"never: does not hold, false, , why 3",
		"not with 5: holds in 3 of 4 seeds, false, with seed 5: seed 5, why 5",
		"with 5 alone: holds in 1 of 4 seeds, false, with seed 5: seed 5, why 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if s := r.Whole(); len(s) != 1 || s[0].Claims != 5 || s[0].Holds != 2 || s[0].Turns != 2 || s[0].Fails() != 1 {
		t.Errorf("the counts are %+v", s)
	}
	other := drawn
	other.Run = func(_ context.Context, s paper.Options) (paper.Figure, error) {
		return paper.Figure{Claims: make([]paper.Claim, s.Seed)}, nil
	}
	if _, err := paper.NewReport(t.Context(), []paper.Experiment{other}, paper.Options{Seed: 3, Seeds: 2}, nil); err == nil || !strings.Contains(err.Error(), "seed 4 makes other claims than seed 3") {
		t.Errorf("claims that differ by seed give the error %v", err)
	}
}
