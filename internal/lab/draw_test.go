package lab_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
)

// TestCaptureCurveEndsAtTheScore holds the picture against the figures.
func TestCaptureCurveEndsAtTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		changes := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 900), 0, 40), 1, 5).Draw(t, "changes")
		life, err := objective.ParseVisibility(rapid.SampledFrom([]string{"overwrite", "append", "window:3m", "last:2"}).Draw(t, "life"))
		if err != nil {
			t.Fatal(err)
		}
		c := lab.NewCase("x.csv", lab.NewGrid(time.Unix(0, 0).UTC(), time.Minute, 900, changes), lab.Weights{Life: life})
		curve := lab.NewCaptureCurve(c)
		score, err := lab.Replay(t.Context(), c.Grid, &policy.Uniform{}, lab.Options{Budget: 0.5, Weights: c.Weights, Look: curve.Look})
		if err != nil {
			t.Fatal(err)
		}
		captured, happened := curve.Sums()
		last := func(points [][2]float64) int { return int(points[len(points)-1][1]) }
		if last(captured) != score.Captured || last(happened) != score.Changes {
			t.Fatalf("the curves end at %d of %d, the score says %d of %d", last(captured), last(happened), score.Captured, score.Changes)
		}
		late := 0.0
		for _, c := range lab.DelayChart(lab.Trial{Score: score}).Columns {
			late += c.Height
		}
		if int(late) != score.Captured {
			t.Fatalf("the columns of delays add up to %v, want %d", late, score.Captured)
		}
	})
}
