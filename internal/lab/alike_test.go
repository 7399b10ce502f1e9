package lab_test

import (
	"testing"
	"time"

	"freshet/internal/lab"
	"freshet/internal/research/generate"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// Histories that are made up hold little that can be learnt: pages that are alike,
// and change a few times in all. Auto loses next to nothing there to taking turns,
// at any budget and whatever polls show. Means over seeds, since a few changes more or
// less are luck.
//
// The long tier tries every history, every budget and every kind of evidence; make alike runs it. There,
// dates lose a little more at tight budgets: up to 0.0065 on auctions at half a poll a minute,
// and 0.0077 on atis at one with five dates.
func TestAutoLosesNothingToTurns(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	const seeds, loss = 5, 0.005
	budgets, evidence := []float64{0.5, 1, 8}, []lab.Evidence{{}, {Kind: lab.Dated}, {Kind: lab.Feed, Entries: 5}}
	all := tier.IsLong()
	if all {
		budgets = []float64{0.25, 0.5, 1, 2, 4, 8, 16, 32}
		evidence = []lab.Evidence{{}, {Kind: lab.Dated}, {Kind: lab.Feed, Entries: 5}, {Kind: lab.Index}, {Kind: lab.Index, Entries: 20}}
	}
	for _, kind := range []struct {
		generate.Spec
		instant time.Duration
		always  bool // not in the long tier alone
	}{
		{generate.Spec{Kind: "auction", Pages: 400}, time.Minute, true},
		{generate.Spec{Kind: "poisson", Pages: 100}, time.Minute, false},
		{generate.Spec{Kind: "bursty", Pages: 150}, time.Minute, true},
		{generate.Spec{Kind: "periodic", Pages: 150}, time.Minute, false},
		{generate.Spec{Kind: "atis", Pages: 50, Length: 24 * time.Hour}, time.Minute, true},
		{generate.Spec{Kind: "normal", Sites: 10, Pages: 40}, 6 * time.Hour, true},
		{generate.Spec{Kind: "vshaped", Sites: 10, Pages: 40}, 6 * time.Hour, false},
	} {
		if !kind.always && !all {
			continue
		}
		t.Run(kind.Kind, func(t *testing.T) {
			t.Parallel()
			var grids []*lab.Grid
			for seed := range uint64(seeds) {
				kind.Seed = 21 + seed
				g, err := simulated(t, kind.Spec).Quantise(lab.Period{Instant: kind.instant})
				if err != nil {
					t.Fatal(err)
				}
				grids = append(grids, g)
			}
			for _, budget := range budgets {
				turns := meanRecall(t, grids, "uniform", budget, lab.Evidence{})
				for _, e := range evidence {
					if least := map[lab.EvidenceKind]float64{lab.Dated: 1, lab.Feed: 8}[e.Kind]; budget < least && !all { // the tightest budgets are for make alike
						continue
					}
					auto := meanRecall(t, grids, "auto", budget, e)
					t.Logf("%s, %v polls an instant, %v: %.4f, by turns %.4f, %+.4f", kind.Kind, budget, e, auto, turns, auto-turns)
					if auto < turns-loss {
						t.Errorf("%s: with %v polls an instant that show %v %.4f of the changes are captured, and %.4f by turns", kind.Kind, budget, e, auto, turns)
					}
				}
			}
		})
	}
}

// meanRecall returns what a policy captures of grids, on average.
func meanRecall(t *testing.T, grids []*lab.Grid, name string, budget float64, e lab.Evidence) (mean float64) {
	t.Helper()
	for _, g := range grids {
		p, err := policy.New(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(g.Pages())})
		if err != nil {
			t.Fatal(err)
		}
		score, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: budget, Evidence: e})
		if err != nil {
			t.Fatal(err)
		}
		mean += score.Recall / float64(len(grids))
	}
	return mean
}
