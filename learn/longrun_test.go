package learn_test

import (
	"math"
	"testing"

	"freshet"
	"freshet/learn"
)

func TestLongRun(t *testing.T) {
	const day = 24 * 3600
	now := freshet.Range{Mean: 4.0 / day, Low: 2.0 / day, High: 8.0 / day} // twice as busy as on average
	cases := []struct {
		what  string
		tally freshet.Tally
		want  freshet.Range // a day
	}{
		{"not watched for a day", freshet.Tally{Watched: day - 1, Happened: 5, Captured: 5, Polls: 10}, freshet.Range{Mean: 4, Low: 2, High: 8}},
		{"hardly changed", freshet.Tally{Watched: 2 * day, Happened: 2.9, Captured: 2.9, Polls: 10}, freshet.Range{Mean: 4, Low: 2, High: 8}},
		{"nothing missed", freshet.Tally{Watched: 2 * day, Happened: 4, Captured: 4, Polls: 10}, freshet.Range{Mean: 2, Low: 1, High: 4}},
		{"a quarter of the polls found something", freshet.Tally{Watched: 10 * day, Happened: 20, Captured: 5, Polls: 20}, freshet.Range{Mean: math.Pow(0.5, 0.25) * math.Pow(2, 0.75), Low: 0.5, High: 4}},
		{"every poll found something", freshet.Tally{Watched: 10 * day, Happened: 20, Captured: 15, Polls: 15}, freshet.Range{Mean: 1.5, Low: 1, High: 4}},
		{"nothing captured", freshet.Tally{Watched: 10 * day, Happened: 20, Polls: 15}, freshet.Range{Mean: 2, Low: 1, High: 4}},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			got := learn.LongRun(freshet.Outlook{Rate: now, Tally: c.tally})
			for what, pair := range map[string][2]float64{"mean": {got.Mean, c.want.Mean}, "low": {got.Low, c.want.Low}, "high": {got.High, c.want.High}} {
				if !(math.Abs(pair[0]*day-pair[1]) <= 1e-9) {
					t.Errorf("the %s is %.6f a day, want %.6f", what, pair[0]*day, pair[1])
				}
			}
		})
	}
	if r := learn.LongRun(freshet.Outlook{Tally: freshet.Tally{Watched: 10 * day, Happened: 20, Polls: 15}}); r != (freshet.Range{}) {
		t.Errorf("of a source that nothing is thought of, the rate is %+v", r)
	}
}
