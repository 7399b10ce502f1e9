package paper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
)

// A policyMaker returns the policy called name, as [baselines.New] does. The
// experiments take theirs as an argument, so that it can be seen that their
// verdicts turn when something else runs under a name.
type policyMaker func(name string, at policy.Setting) (freshet.Policy, error)

// beyondExperiments are the questions that the papers leave open.
func beyondExperiments() []Experiment {
	return beyondWith(baselines.New)
}

func beyondWith(make policyMaker) []Experiment {
	list := []struct {
		where string
		cost  int
		run   func(context.Context, Options, question, policyMaker) (Figure, error)
	}{
		{"question 1", 45, handoverFigure},
		{"question 2", 12, groupsFigure},
		{"question 3", 5, agesFigure},
		{"question 4", 2, shapesFigure},
		{"question 5", 25, distancesFigure},
		{"question 6", 10, productsFigure},
		{"question 7", 120, priceFigure},
		{"question 8", 60, sitesFigure},
		{"question 9", 30, hoursFigure},
	}
	var experiments []Experiment
	for _, e := range list {
		experiments = append(experiments, Experiment{Paper: Beyond, Where: e.where, Cost: e.cost,
			Run: func(ctx context.Context, s Options) (Figure, error) { return e.run(ctx, s, question(e.where), make) }})
	}
	return experiments
}

// A question is what an experiment beyond the papers is to answer.
type question string

// finding returns what was found: what was asked or guessed, what came out, and
// whether the guess was right.
func (q question) finding(claim, guess string, holds bool, measured string, args ...any) Claim {
	return Claim{Paper: Beyond, Kind: Question, Where: string(q), Claim: claim, Expected: guess, Measured: fmt.Sprintf(measured, args...), Holds: holds}
}

// because returns the finding with a reason, if it does not hold.
func (c Claim) because(why string) Claim {
	if !c.Holds {
		c.Why = why
	}
	return c
}

// beyondStart is when generated histories begin.
var beyondStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sized returns one of two sizes.
func sized[T any](s Options, full, quick T) T {
	if s.Quick {
		return quick
	}
	return full
}

// recordedHistory opens a recorded history, if it is at hand.
func recordedHistory(s Options, name string) (h *lab.History, ok bool, err error) {
	if s.Traces == "" {
		return nil, false, nil
	}
	file := filepath.Join(s.Traces, name+".csv.gz")
	if _, err := os.Stat(file); err != nil {
		return nil, false, nil
	}
	h, err = lab.OpenHistory(file)
	return h, err == nil, err
}

// percent writes a share for people.
func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
