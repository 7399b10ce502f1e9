package results_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"freshet/internal/lab"
	"freshet/internal/research/results"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// A comparison of evidence has five runs of everybody, which differ by chance alone, and
// says what their mean is.
func TestComparisonOfEvidence(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	dir := fewTraces(t)
	evidence := []lab.Evidence{{}, {Kind: lab.Dated}, {Kind: lab.Index, Entries: 3}}
	r, err := results.Comparison{Traces: dir, Evidence: evidence, Jobs: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Reference) != 2 || len(r.Shares)+len(r.Decayed)+len(r.HeldOut) > 0 || len(r.Contenders) != len(evidence) {
		t.Fatalf("%d reference settings and %d others, %d contenders", len(r.Reference), len(r.Shares)+len(r.Decayed)+len(r.HeldOut), len(r.Contenders))
	}
	h, err := lab.OpenHistory(dir + "/quakes-2021.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	g, err := results.Recordings()[0].Grid(h)
	if err != nil {
		t.Fatal(err)
	}
	x, luck := r.Reference[0], 0.0
	for i, e := range evidence {
		sum := 0.0
		for seed := range uint64(5) {
			p, err := policy.New("auto:jitter=0.01", policy.Setting{Start: g.Start, Instant: g.Instant, Polls: x.Budget, Sources: len(g.Pages()), Seed: seed + 1})
			if err != nil {
				t.Fatal(err)
			}
			score, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: x.Budget, Evidence: e})
			if err != nil {
				t.Fatal(err)
			}
			sum += score.Recall / x.Limit / 5
		}
		got, ok := x.OfLimit(e.String())
		if !ok || got.Count != 5 || math.Abs(got.Mean-sum) > 1e-9 {
			t.Errorf("%v has %+v of the limit, want a mean of %v", e, got, sum)
		}
		luck += got.Deviation
		other, _ := r.Reference[1].OfLimit(e.String())
		if mean := results.MeanRuns(r.Reference, r.Contenders[i].Name); math.Abs(mean.Mean-(got.Mean+other.Mean)/2) > 1e-9 || mean.Count != 5 {
			t.Errorf("%v: the mean over the traces is %+v, of %v and %v", e, mean, got.Mean, other.Mean)
		}
	}
	if luck == 0 {
		t.Error("no two runs differ")
	}
	var table bytes.Buffer
	if err := r.WriteEvidence(&table); err != nil || strings.Count(table.String(), "\n") != 4 {
		t.Errorf("the table is\n%s (%v)", table.String(), err)
	}
}

// What is held out of the recordings is taken where it is asked for, and nothing else.
func TestComparisonOfEvidenceHeldOut(t *testing.T) {
	r, err := results.Comparison{Traces: fewTraces(t), Contenders: contenders(t, "uniform"), Evidence: []lab.Evidence{{}}, Reserved: true}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Reference) > 0 || len(r.HeldOut) != 1 || !r.HeldOut[0].Half || r.HeldOut[0].Trace != "quakes-2021" {
		t.Errorf("%d reference settings, and held out are %+v", len(r.Reference), r.HeldOut)
	}
}
