package paper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"freshet/paper"
)

const evilWords = `<script>alert("x")</script>&]]>`

// sample returns a report on made-up experiments.
func sampleReport() paper.Report {
	claim := paper.Claim{Paper: paper.WIC, Where: evilWords, Claim: evilWords, Expected: evilWords, Measured: evilWords, Why: evilWords}
	good := claim
	good.Holds = true
	return paper.Report{
		Setting: paper.Options{Seed: 7, Quick: true},
		Done: []paper.Done{
			{Experiment: paper.Experiment{Paper: paper.WIC, Where: evilWords}, Figure: paper.Figure{
				Title: evilWords, About: evilWords, SVGs: []string{"<svg id=\"drawn\"></svg>"},
				Tables: []paper.Table{{Head: []string{evilWords}, Rows: [][]string{{evilWords}, {"12.5%"}}}},
				Claims: []paper.Claim{good, claim},
			}},
			{Experiment: paper.Experiment{Paper: paper.Beyond, Where: "question 1"}, Figure: paper.Figure{Title: "second", Claims: []paper.Claim{good}}},
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
	for _, want := range []string{`<svg id="drawn">`, "2 of 3 claims hold", "The seed is 7", "small sizes", `class="n">12.5%`, "✗ does not hold", "✓ holds"} {
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
	for _, key := range []string{"paper", "where", "claim", "expected", "measured", "holds"} {
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
	if least := paper.Estimate(list); least.Seconds() < 30 || least.Seconds() > 60 {
		t.Errorf("experiments of 0, 10, 20 and 30 seconds are said to take %v", least)
	}
	broken := errors.New("broken")
	list[2].Run = func(context.Context, paper.Options) (paper.Figure, error) { return paper.Figure{}, broken }
	if _, err := paper.NewReport(t.Context(), list, paper.Options{}, nil); !errors.Is(err, broken) || !strings.Contains(err.Error(), "wic, c") {
		t.Errorf("an experiment that fails gives %v", err)
	}
}
