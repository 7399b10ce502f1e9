package lab_test

import (
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/generate"
)

// simulated returns a history that was made up.
func simulated(t *testing.T, s generate.Spec) *lab.History {
	t.Helper()
	h, err := generate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// generated returns a case that was made up, in instants of ten minutes.
func generated(t *testing.T, kind string) *lab.Case {
	t.Helper()
	g, err := simulated(t, generate.Spec{Kind: kind, Pages: 12, Length: 48 * time.Hour, Seed: 5}).Quantise(lab.Period{Instant: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return lab.NewCase("made/"+kind+".csv.gz", g, lab.Weights{})
}

// Trials side by side come out as each does alone, in their places, and none
// has more than was possible.
func TestCompetition(t *testing.T) {
	t.Parallel()
	cases := []*lab.Case{generated(t, "poisson"), generated(t, "periodic")}
	var told atomic.Int64
	c := lab.Competition{
		Terms:    lab.Terms{Estimate: estimate.Spec{Name: "poisson"}, Seed: 3},
		Policies: []string{"uniform", "round-robin", "auto"}, Budgets: []float64{0.5, 2}, Limit: true,
		Progress: func(instants int) { told.Add(int64(instants)) },
	}
	contests, err := c.Run(t.Context(), cases)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := int(told.Load()), c.Instants(cases); got != want {
		t.Errorf("progress was told of %d instants, of %d", got, want)
	}
	for i, k := range contests {
		for b, row := range k.Trials {
			for p, got := range row {
				alone, err := c.Try(t.Context(), cases[i], c.Policies[p], c.Budgets[b], lab.Options{})
				if err != nil {
					t.Fatal(err)
				}
				alone.HoldAgainst(k.Limits[b], k.Weight)
				if !reflect.DeepEqual(got, alone) {
					t.Errorf("%s, %s at %v: side by side %+v, alone %+v", k.Name(), c.Policies[p], c.Budgets[b], got, alone)
				}
				if got.OfLimit <= 0 || got.OfLimit > 1+1e-9 {
					t.Errorf("%s, %s at %v had %v of the limit", k.Name(), got.Policy, got.Budget, got.OfLimit)
				}
			}
		}
	}
	if rows := contests[0].Rows(); len(rows) != 2*(3+1) || rows[3][2] != "(limit)" || rows[0][0] != "poisson" {
		t.Errorf("the table has %d rows: %q", len(rows), rows)
	}
	var csv strings.Builder
	if err := lab.WriteTrials(&csv, lab.AllTrials(contests)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(csv.String(), "\n"); lines != 1+2*2*3 {
		t.Errorf("12 trials make %d lines of CSV", lines)
	}
}

// One wrong name ends the competition.
func TestCompetitionRefuses(t *testing.T) {
	t.Parallel()
	c := lab.Competition{Terms: lab.Terms{Estimate: estimate.Spec{Name: "poisson"}}, Policies: []string{"uniform", "unifrom"}, Budgets: []float64{1}}
	_, err := c.Run(t.Context(), []*lab.Case{generated(t, "poisson")})
	if wrong, ok := errors.AsType[*invalid.Error](err); !ok || wrong.Field != "policy" {
		t.Errorf("a policy that there is not gives %v", err)
	}
}
