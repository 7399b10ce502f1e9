package outlook_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/learn/outlook"
)

const day = 24 * 3600

// What is known of a rate follows from how often the source was seen, and seen to change.
func TestKnowledge(t *testing.T) {
	thought := outlook.Range{Mean: 4.0 / day, Low: 2.0 / day, High: 8.0 / day}
	cases := []struct {
		what string
		e    outlook.Evidence
		want outlook.Knowledge
	}{
		{"never polled", outlook.Evidence{Unbounded: true}, outlook.Unknown},
		{"one change", outlook.Evidence{Tally: outlook.Tally{Polls: 9, Found: 1, Captured: 1, Happened: 1, Watched: 3600}}, outlook.Unknown},
		{"two changes in two polls", outlook.Evidence{Unbounded: true, Tally: outlook.Tally{Polls: 2, Found: 2, Captured: 2, Happened: 3, Watched: 60}}, outlook.Unknown},
		{"three changes", outlook.Evidence{Tally: outlook.Tally{Polls: 9, Found: 2.9, Captured: 2.9, Happened: 4, Watched: 3600}}, outlook.Estimated},
		{"three changes within seconds", outlook.Evidence{Tally: outlook.Tally{Polls: 9, Found: 3, Captured: 3, Happened: 4, Watched: 28}}, outlook.Unknown},
		{"many changes within minutes", outlook.Evidence{Tally: outlook.Tally{Polls: 40, Found: 20, Captured: 20, Happened: 24, Watched: 120}}, outlook.Estimated},
		{"a change at every poll", outlook.Evidence{Unbounded: true, Tally: outlook.Tally{Polls: 6, Found: 6, Captured: 6, Happened: 18, Watched: 3600}}, outlook.AtLeast},
		{"a few polls in a row that found a change", outlook.Evidence{Unbounded: true, Tally: outlook.Tally{Polls: 3, Found: 3, Captured: 3, Happened: 9, Watched: 1}}, outlook.Unknown},
		{"imported", outlook.Evidence{Taught: 2, Told: 7200}, outlook.Estimated},
		{"two imported", outlook.Evidence{Taught: 1, Told: 3600}, outlook.Unknown},
		{"a change in a week", outlook.Evidence{Tally: outlook.Tally{Polls: 99, Found: 0.9, Captured: 0.9, Happened: 1, Watched: 7 * day}}, outlook.Estimated},
		{"no change in a day", outlook.Evidence{Tally: outlook.Tally{Polls: 99, Watched: day}}, outlook.AtMost},
		{"hardly a poll in a day", outlook.Evidence{Tally: outlook.Tally{Polls: 2, Watched: day}}, outlook.Unknown},
	}
	for _, c := range cases {
		c.e.Thought, c.e.Tick = thought, time.Minute
		if got := outlook.RateOf(c.e).Known; got != c.want {
			t.Errorf("%s: its rate is %v, want %v", c.what, got, c.want)
		}
	}
	if r := outlook.RateOf(outlook.Evidence{Tally: outlook.Tally{Watched: 10 * day, Happened: 20, Found: 15, Polls: 15}}); r != (outlook.Rate{}) {
		t.Errorf("of a source that nothing is thought of, the rate is %+v", r)
	}
}

// After a day the rate is the mean over what was seen, and not what is thought.
func TestRateOfTheLongRun(t *testing.T) {
	thought := outlook.Range{Mean: 4.0 / day, Low: 2.0 / day, High: 8.0 / day} // twice as much
	low, high := func(x float64) float64 { return x * math.Pow(2, -0.35) }, func(x float64) float64 { return x * math.Pow(2, 0.5) }
	cases := []struct {
		what  string
		tally outlook.Tally
		want  outlook.Range // a day
	}{
		{"hardly changed", outlook.Tally{Watched: 2 * day, Happened: 2.4, Found: 2.4, Captured: 2.4, Polls: 10}, outlook.Range{Mean: 4, Low: 2, High: 8}},
		{"nothing missed", outlook.Tally{Watched: 2 * day, Happened: 4, Found: 4, Captured: 4, Polls: 10}, outlook.Range{Mean: 2, Low: low(2), High: high(2)}},
		{"a quarter of the polls found something", outlook.Tally{Watched: 10 * day, Happened: 20, Found: 5, Captured: 5, Polls: 20}, outlook.Range{Mean: math.Pow(0.5, 0.25) * math.Pow(2, 0.75), Low: 0.5, High: high(2)}},
		{"a day and three changes are just enough", outlook.Tally{Watched: day, Happened: 3, Found: 3, Captured: 3, Polls: 10}, outlook.Range{Mean: 3, Low: low(3), High: high(3)}},
		{"more captured than happened", outlook.Tally{Watched: 10 * day, Happened: 20, Found: 21, Captured: 21, Polls: 30}, outlook.Range{Mean: 2, Low: low(2), High: high(2)}},
	}
	for _, c := range cases {
		got := outlook.RateOf(outlook.Evidence{Thought: thought, Tally: c.tally})
		for what, pair := range map[string][2]float64{"mean": {got.Mean, c.want.Mean}, "low": {got.Low, c.want.Low}, "high": {got.High, c.want.High}} {
			if !(math.Abs(pair[0]*day-pair[1]) <= 1e-9) {
				t.Errorf("%s: the %s is %.6f a day, want %.6f", c.what, what, pair[0]*day, pair[1])
			}
		}
	}
}

// Where every poll finds a change the lower bound is what was seen.
func TestRateOfSaturatedPolls(t *testing.T) {
	r := outlook.RateOf(outlook.Evidence{
		Thought: outlook.Range{Mean: 40.0 / 3600, Low: 20.0 / 3600, High: 100.0 / 3600}, Unbounded: true,
		Tally: outlook.Tally{Watched: 3600, Polls: 12, Found: 12, Captured: 12, Happened: 40},
	})
	if r.Known != outlook.AtLeast || math.Abs(r.Low*3600-12) > 1e-9 {
		t.Errorf("twelve of twelve polls in an hour found a change, and the rate is %v, from %v an hour on", r.Known, r.Low*3600)
	}
}

// What was imported counts as what was seen: 48 changes a day are 48 changes a day.
func TestRateOfImportedChanges(t *testing.T) {
	e := outlook.Evidence{Thought: outlook.Range{Mean: 5.0 / day, Low: 1.0 / day, High: 9.0 / day}, Taught: 671, Told: 671 * 1800}
	if r := outlook.RateOf(e); math.Abs(r.Mean*day-48) > 1e-9 || r.Low*day < 44 || r.High*day > 52 {
		t.Errorf("taught 48 changes a day, the rate is %v (%v to %v) a day", r.Mean*day, r.Low*day, r.High*day)
	}
	e.Tally = outlook.Tally{Polls: 600, Found: 480, Captured: 480, Happened: 480, Watched: 14 * day}
	if r := outlook.RateOf(e); r.Mean*day < 35 || r.Mean*day > 47 {
		t.Errorf("and seen 34 times a day for as long, it is %v a day", r.Mean*day)
	}
}

// No mean lies outside of its range, whatever the evidence.
func TestMeanIsWithinItsRange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		polls := rapid.Float64Range(0, 1e4).Draw(rt, "polls")
		found := polls * rapid.Float64Range(0, 1).Draw(rt, "found")
		captured := found * rapid.Float64Range(1, 5).Draw(rt, "captured")
		e := outlook.Evidence{
			Unbounded: rapid.Bool().Draw(rt, "unbounded"), Taught: rapid.Float64Range(0, 5).Draw(rt, "taught"), Told: rapid.Float64Range(0, 1e6).Draw(rt, "told"), Tick: time.Minute,
			Tally: outlook.Tally{
				Polls: polls, Found: found, Captured: captured, Happened: captured * rapid.Float64Range(0.9, 50).Draw(rt, "missed"),
				Watched: math.Exp(rapid.Float64Range(0, 20).Draw(rt, "watched")),
			},
		}
		e.Thought.Mean = math.Exp(rapid.Float64Range(-20, 2).Draw(rt, "rate"))
		e.Thought.Low, e.Thought.High = e.Thought.Mean/rapid.Float64Range(1, 9).Draw(rt, "low"), e.Thought.Mean*rapid.Float64Range(1, 9).Draw(rt, "high")
		r := outlook.RateOf(e)
		const rounding = 1 + 1e-9
		if r.Low > r.Mean*rounding || r.Mean > r.High*rounding || math.IsNaN(r.Mean) || math.IsInf(r.High, 0) {
			rt.Fatalf("the mean %v is not between the bounds %v and %v", r.Mean, r.Low, r.High)
		}
	})
}

// The rate of a moment goes by what was seen of late as far as polls resolve it.
func TestRateOfAMoment(t *testing.T) {
	long := outlook.Rate{Range: outlook.Range{Mean: 4.0 / day, Low: 2.0 / day, High: 9.0 / day}, Known: outlook.Estimated}
	fast := outlook.Range{Mean: 100.0 / day, Low: 50.0 / day, High: 900.0 / day}
	cases := []struct {
		what  string
		tally outlook.Tally
		pace  float64
		want  outlook.Range // a day
	}{
		{"never polled", outlook.Tally{}, 1, outlook.Range{Mean: 4, Low: 2, High: 9}},
		{"at this hour more", outlook.Tally{}, 3, outlook.Range{Mean: 12, Low: 6, High: 27}},
		{"every poll finds a change", outlook.Tally{Polls: 10, Found: 10, Watched: 10 * day}, 1, outlook.Range{Mean: 4, Low: 2, High: 9}},
		{"polls find nothing", outlook.Tally{Polls: 1e4, Watched: day}, 1, outlook.Range{Mean: 100, Low: 50, High: 900}},
		{"a poll a day", outlook.Tally{Polls: 10, Watched: 10 * day}, 1, outlook.Range{Mean: 9, Low: 9, High: 9}},
		{"half of the polls find a change", outlook.Tally{Polls: 500, Found: 250, Watched: 10 * day}, 1, outlook.Range{Mean: math.Sqrt(4 * 50), Low: math.Sqrt(2 * 50), High: math.Sqrt(9 * 50)}},
	}
	for _, c := range cases {
		got := long.At(c.pace, fast, c.tally).Times(day)
		for what, pair := range map[string][2]float64{"mean": {got.Mean, c.want.Mean}, "low": {got.Low, c.want.Low}, "high": {got.High, c.want.High}} {
			if !(math.Abs(pair[0]-pair[1]) <= 1e-9) {
				t.Errorf("%s: the %s is %.6f a day, want %.6f", c.what, what, pair[0], pair[1])
			}
		}
	}
}
