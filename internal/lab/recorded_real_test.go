package lab_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
)

// A spy is a policy whose outcomes are noted, as a daemon notes them.
type spy struct {
	freshet.Policy
	outcomes []freshet.Outcome
}

// Observe implements [freshet.Policy].
func (s *spy) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	s.outcomes = append(s.outcomes, o)
	s.Policy.Observe(now, slot, o)
}

// polled returns the recall of a policy, and the log that it leaves.
func polled(t *testing.T, name string, g *lab.Grid, budget float64, replay func(*lab.Grid, freshet.Policy, lab.Options) (lab.Score, error)) (float64, []freshet.Outcome) {
	t.Helper()
	p, err := baselines.New(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(g.Pages()), Estimator: &estimate.Poisson{}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &spy{Policy: p}
	score, err := replay(g, s, lab.Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return score.Recall, s.outcomes
}

// Logs are made of recorded histories by policies, and read again: what they say
// of policies is held against the truth. This makes the table in docs/reference/lab.md.
func TestLogsOfRecordedHistories(t *testing.T) {
	dir := os.Getenv("FRESHET_TRACES")
	if dir == "" {
		t.Skip("FRESHET_TRACES names no folder of recorded histories")
	}
	offPlain, offFilled, n := 0.0, 0.0, 0.0
	for _, tt := range []struct {
		name     string
		instant  time.Duration
		budget   float64
		from, to string
	}{
		{"quakes-2021", time.Hour, 10, "2021-06-11", "2021-07-10"},
		{"rss-a", 10 * time.Minute, 6, "2023-03-01", "2023-03-22"},
		{"news-de-a", time.Hour, 20, "2025-03-02", "2025-04-30"},
		{"mise-versions", time.Hour, 5, "2025-12-16", "2026-03-22"},
		{"parking-a", 5 * time.Minute, 40, "2021-06-01", "2021-06-08"},
	} {
		h, err := lab.OpenHistory(filepath.Join(dir, tt.name+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		g, err := h.Quantise(lab.Period{Start: dayOf(t, tt.from), End: dayOf(t, tt.to), Instant: tt.instant})
		if err != nil {
			t.Fatal(err)
		}
		plainly := func(g *lab.Grid, p freshet.Policy, o lab.Options) (lab.Score, error) {
			return lab.Replay(t.Context(), g, p, o)
		}
		truth, logs := map[string]float64{}, map[string][]freshet.Outcome{}
		for _, name := range []string{"uniform", "frequency"} {
			truth[name], logs[name] = polled(t, name, g, tt.budget, plainly)
		}
		gain := truth["frequency"] / truth["uniform"]
		for _, logger := range []string{"uniform", "frequency"} {
			said := map[bool]float64{} // gain, by whether the log is filled
			for _, fill := range []bool{false, true} {
				r := read(t, lab.LogOptions{Seed: 1, Fill: fill}, logs[logger]...)
				g, err := r.History.Quantise(r.Period(0))
				if err != nil {
					t.Fatal(err)
				}
				again := func(g *lab.Grid, p freshet.Policy, o lab.Options) (lab.Score, error) {
					return r.Replay(t.Context(), g, p, o)
				}
				recall := map[string]float64{}
				for name := range truth {
					recall[name], _ = polled(t, name, g, float64(r.Spent(g))/float64(g.Instants), again)
					off := math.Abs(recall[name] - truth[name])
					if n += 0.5; fill {
						offFilled += off
					} else {
						offPlain += off
					}
				}
				said[fill] = recall["frequency"] / recall["uniform"]
			}
			t.Logf("%-13s %-9s in truth %.2f, filled %.2f, as recorded %.2f", tt.name, logger, gain, said[true], said[false])
			if logger == "uniform" && math.Abs(said[true]-gain) >= math.Abs(said[false]-gain) {
				t.Errorf("%s: what hides is put in, and the log of uniform tells no better: %.2f and not %.2f, where %.2f is true", tt.name, said[true], said[false], gain)
			}
		}
	}
	t.Logf("recall is off by %.2f filled, by %.2f as recorded", offFilled/n, offPlain/n)
	if offFilled >= offPlain/2 {
		t.Errorf("recall is off by %.2f with what hides and by %.2f without", offFilled/n, offPlain/n)
	}
}

func dayOf(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
