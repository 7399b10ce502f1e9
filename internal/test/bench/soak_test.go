package bench_test

import (
	"testing"

	"freshet/internal/test/bench"
)

// TestJudgeSoak shows it runs in which one thing moves.
func TestJudgeSoak(t *testing.T) {
	run := func(change func(i int, s *bench.SoakSample)) (samples []bench.SoakSample) {
		for i := range 360 {
			s := bench.SoakSample{Seconds: float64(10 * (i + 1)), PerSecond: 500, MostLate: 0.01, RSS: 200 << 20, Heap: 100 << 20, Files: 90, Goroutines: 150, WAL: 4 << 20, PerPoll: 100, CPUShare: 0.6}
			s.RSS += int64(i%7) << 20 // it breathes
			change(i, &s)
			samples = append(samples, s)
		}
		return samples
	}
	tests := []struct {
		name   string
		change func(i int, s *bench.SoakSample)
		grows  string // "" means that all is flat
	}{
		{"steady", func(int, *bench.SoakSample) {}, ""},
		{"caches that fill up at first", func(i int, s *bench.SoakSample) { s.RSS += int64(min(i, 80)) << 20 }, ""},
		{"a burst", func(i int, s *bench.SoakSample) {
			if i == 200 {
				s.MostLate = 2
			}
		}, ""},
		{"a leak of memory", func(i int, s *bench.SoakSample) { s.RSS += int64(i) * 200 << 10 }, "memory"},
		{"a leak of goroutines", func(i int, s *bench.SoakSample) { s.Goroutines += i / 10 }, "goroutines"},
		{"a leak of files", func(i int, s *bench.SoakSample) { s.Files += i / 10 }, "files"},
		{"ever later", func(i int, s *bench.SoakSample) { s.MostLate += float64(i) / 1000 }, "lateness"},
		{"ever slower", func(i int, s *bench.SoakSample) { s.PerSecond -= float64(i) / 2 }, "polls a second, missing"},
		{"a WAL that is as large as it ever was", func(i int, s *bench.SoakSample) { s.WAL += int64(i) << 14 }, ""},
		{"a WAL that is never checkpointed", func(i int, s *bench.SoakSample) { s.WAL += int64(i) << 20 }, "wal"},
		{"a webhook that falls behind", func(i int, s *bench.SoakSample) { s.Owed = i }, "deliveries owed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := bench.JudgeSoak(run(tt.change))
			if v.Flat != (tt.grows == "") {
				t.Errorf("judged as %+v", v)
			}
			for _, trend := range v.Trends {
				if trend.Flat == (trend.Name == tt.grows) {
					t.Errorf("%s is judged as %+v", trend.Name, trend)
				}
			}
		})
	}
	if bench.JudgeSoak(nil).Flat {
		t.Error("a run without samples is judged as flat")
	}
}
