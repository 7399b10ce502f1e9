package bench_test

import (
	"testing"

	"freshet/internal/test/bench"
)

func TestJudgeSeesGrowth(t *testing.T) {
	run := func(change func(i int, r *bench.HoldReport)) (reports []bench.HoldReport) {
		for i := range 9 {
			r := bench.HoldReport{PerSecond: 500, MostLate: 0.01, RSS: 100 << 20}
			change(i, &r)
			reports = append(reports, r)
		}
		return reports
	}
	tests := []struct {
		name        string
		change      func(i int, r *bench.HoldReport)
		late, grown bool
	}{
		{"steady", func(int, *bench.HoldReport) {}, false, false},
		{"caches that fill up at first", func(i int, r *bench.HoldReport) { r.RSS = int64(min(i, 3)+1) * 50 << 20 }, false, false},
		{"ever later", func(i int, r *bench.HoldReport) { r.MostLate = float64(i) / 10 }, true, false},
		{"ever slower", func(i int, r *bench.HoldReport) { r.PerSecond -= float64(i) * 30 }, true, false},
		{"a leak", func(i int, r *bench.HoldReport) { r.RSS += int64(i) * 10 << 20 }, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if v := bench.Judge(run(tt.change)); v.LateGrew != tt.late || v.RSSGrew != tt.grown {
				t.Errorf("judged as %+v", v)
			}
		})
	}
	if v := bench.Judge(nil); v.LateGrew || v.RSSGrew {
		t.Errorf("a run without reports is judged as %+v", v)
	}
}
