package lab_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/results"
)

// How far the range of the share captured can be believed is measured on real
// traces, where FRESHET_TRACES names a folder of them: for each recording as a
// whole, and page by page.
func TestRangesOnRecordings(t *testing.T) {
	dir := os.Getenv("FRESHET_TRACES")
	if dir == "" {
		t.Skip("FRESHET_TRACES names no folder of traces")
	}
	sets := []struct {
		name string
		list []results.Recording
	}{{"reference", results.Recordings()}, {"held out", results.HeldOut()}}
	for _, set := range sets {
		held, n, width, off := 0, 0, 0.0, 0.0
		byPage := lab.RangeFigures{}
		for _, r := range set.list {
			f := honesty(t, filepath.Join(dir, r.Name+".csv.gz"), r)
			if f == nil {
				continue
			}
			n++
			in := f.Share.Low <= f.TrueShare && f.TrueShare <= f.Share.High
			if in {
				held++
			}
			width += f.Share.High - f.Share.Low
			off += math.Abs(f.Share.Mean - f.TrueShare)
			byPage.Held += f.Ranges.Held
			byPage.Width += f.Ranges.Width
			byPage.Off += f.Ranges.Off
			t.Logf("%-22s said %.3f (%.3f to %.3f), was %.3f %v; by page held %.2f, width %.2f, off %.3f", r.Name,
				f.Share.Mean, f.Share.Low, f.Share.High, f.TrueShare, in, f.Ranges.Held, f.Ranges.Width, f.Ranges.Off)
		}
		if n == 0 {
			t.Fatalf("no recordings in %s", dir)
		}
		m := float64(n)
		t.Logf("%s: held %d of %d, width %.3f, off %.3f; by page held %.3f, width %.3f, off %.3f",
			set.name, held, n, width/m, off/m, byPage.Held/m, byPage.Width/m, byPage.Off/m)
	}
}

// honesty replays a recording under auto; nil if it is not there.
func honesty(t *testing.T, file string, r results.Recording) *lab.CalibrationFigures {
	t.Helper()
	h, err := lab.OpenHistory(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := r.Grid(h)
	if err != nil {
		t.Fatal(err)
	}
	c := lab.NewCase(file, g, lab.Weights{})
	terms := lab.Terms{Estimate: estimate.Spec{Name: "poisson"}, Seed: 1}
	at, err := terms.Setting("auto", g, r.Budget)
	if err != nil {
		t.Fatal(err)
	}
	held := lab.NewCalibration(g, at)
	trial, err := terms.Try(t.Context(), c, "auto", r.Budget, lab.Options{Learner: held})
	if err != nil {
		t.Fatal(err)
	}
	return held.Figures(trial.Score)
}
