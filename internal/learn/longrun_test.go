package learn_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

func TestLongRun(t *testing.T) {
	const day = 24 * 3600
	now := outlook.Range{Mean: 4.0 / day, Low: 2.0 / day, High: 8.0 / day} // twice as busy as on average
	cases := []struct {
		what  string
		tally outlook.Tally
		want  outlook.Range // a day
	}{
		{"not watched for a day", outlook.Tally{Watched: day - 1, Happened: 5, Captured: 5, Polls: 10}, outlook.Range{Mean: 4, Low: 2, High: 8}},
		{"hardly changed", outlook.Tally{Watched: 2 * day, Happened: 2.9, Captured: 2.9, Polls: 10}, outlook.Range{Mean: 4, Low: 2, High: 8}},
		{"nothing missed", outlook.Tally{Watched: 2 * day, Happened: 4, Captured: 4, Polls: 10}, outlook.Range{Mean: 2, Low: 1, High: 4}},
		{"a quarter of the polls found something", outlook.Tally{Watched: 10 * day, Happened: 20, Captured: 5, Polls: 20}, outlook.Range{Mean: math.Pow(0.5, 0.25) * math.Pow(2, 0.75), Low: 0.5, High: 4}},
		{"every poll found something", outlook.Tally{Watched: 10 * day, Happened: 20, Captured: 15, Polls: 15}, outlook.Range{Mean: 1.5, Low: 1, High: 4}},
		{"a day and three changes are just enough", outlook.Tally{Watched: day, Happened: 3, Captured: 3, Polls: 10}, outlook.Range{Mean: 3, Low: 1.5, High: 6}},
		{"a poll captures several", outlook.Tally{Watched: 10 * day, Happened: 20, Captured: 18, Polls: 6}, outlook.Range{Mean: 1.8, Low: 1, High: 4}},
		{"more captured than happened", outlook.Tally{Watched: 10 * day, Happened: 20, Captured: 21, Polls: 30}, outlook.Range{Mean: 2, Low: 1, High: 4}},
		{"nothing captured", outlook.Tally{Watched: 10 * day, Happened: 20, Polls: 15}, outlook.Range{Mean: 2, Low: 1, High: 4}},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			got := learn.LongRun(outlook.Outlook{Rate: now, Tally: c.tally})
			for what, pair := range map[string][2]float64{"mean": {got.Mean, c.want.Mean}, "low": {got.Low, c.want.Low}, "high": {got.High, c.want.High}} {
				if !(math.Abs(pair[0]*day-pair[1]) <= 1e-9) {
					t.Errorf("the %s is %.6f a day, want %.6f", what, pair[0]*day, pair[1])
				}
			}
		})
	}
	if r := learn.LongRun(outlook.Outlook{Tally: outlook.Tally{Watched: 10 * day, Happened: 20, Polls: 15}}); r != (outlook.Range{}) {
		t.Errorf("of a source that nothing is thought of, the rate is %+v", r)
	}
}

// The mean lies between what was seen and what changes at random would make of
// it, and within its bounds where that of the moment does.
func TestLongRunIsBetweenSeenAndRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		captured := rapid.Float64Range(0.1, 1e4).Draw(rt, "captured")
		o := outlook.Outlook{Tally: outlook.Tally{
			Captured: captured, Happened: 3 + captured*rapid.Float64Range(1, 50).Draw(rt, "missed"),
			Polls: captured * rapid.Float64Range(0.2, 20).Draw(rt, "polls"), Watched: rapid.Float64Range(86400, 1e9).Draw(rt, "watched"),
		}}
		o.Rate.Mean = math.Exp(rapid.Float64Range(-20, 2).Draw(rt, "rate"))
		o.Rate.Low, o.Rate.High = o.Rate.Mean/rapid.Float64Range(1, 9).Draw(rt, "low"), o.Rate.Mean*rapid.Float64Range(1, 9).Draw(rt, "high")
		r := learn.LongRun(o)
		seen, random := o.Captured/o.Watched, o.Happened/o.Watched
		if r.Mean < seen*(1-1e-9) || r.Mean > random*(1+1e-9) {
			rt.Fatalf("between %v seen and %v at random the mean is %v", seen, random, r.Mean)
		}
		if r.Low > r.Mean*(1+1e-9) && r.Low > seen*(1+1e-9) || r.High < r.Mean*(1-1e-9) {
			rt.Fatalf("the mean %v is not between the bounds %v and %v", r.Mean, r.Low, r.High)
		}
	})
}
