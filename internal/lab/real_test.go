package lab_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"freshet/internal/lab"
	"freshet/internal/sched/policy"
)

// Real traces, where FRESHET_TRACES names a folder of them, are read, replayed
// and bounded.
func TestRealTraces(t *testing.T) {
	dir := os.Getenv("FRESHET_TRACES")
	if dir == "" {
		t.Skip("FRESHET_TRACES names no folder of traces")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.csv.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in %s (%v)", dir, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			h, err := lab.OpenHistory(file)
			if err != nil {
				t.Fatal(err)
			}
			g, err := h.Quantise(lab.Period{Instant: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			score, err := lab.Replay(t.Context(), g, &policy.Uniform{}, lab.Options{Budget: 2})
			if err != nil {
				t.Fatal(err)
			}
			limit, err := g.Limit(2, lab.Weights{})
			if err != nil {
				t.Fatal(err)
			}
			if !limit.Exact || float64(score.Captured) > limit.Value || score.Captured == 0 || score.Polls != 2*g.Instants {
				t.Errorf("%d captured by %d polls in %d instants, and %v can be", score.Captured, score.Polls, g.Instants, limit.Value)
			}
		})
	}
}
