package learn_test

import (
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

// Of what is not there nothing is told but the moment, and of a source that was
// never seen that a poll brings something new.
func TestOutlookOfTheUnknown(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
	l.Put(monday, 2, freshet.Source{ID: "s", URL: "https://h.example/"}, time.Time{})
	for _, slot := range []freshet.Slot{0, 1, 3, 100} {
		if got, want := l.Outlook(hours(5), slot), (outlook.Outlook{At: hours(5)}); got != want {
			t.Errorf("of slot %d, where there is no source, the outlook is %+v", slot, got)
		}
	}
	o := l.Outlook(hours(5), 2)
	plain := alonePlain()
	want := outlook.Range{Mean: plain.mean() / 3600, Low: quantile(plain, 0.05) / 3600, High: quantile(plain, 0.95) / 3600}
	if o.Chance != 1 || o.Expected != 0 || !o.Since.IsZero() || o.Tally != (outlook.Tally{}) {
		t.Errorf("of a source that was never seen the outlook is %+v", o)
	}
	for what, pair := range map[string][2]float64{"mean": {o.Now.Mean, want.Mean}, "low": {o.Now.Low, want.Low}, "high": {o.Now.High, want.High}} {
		if math.Abs(pair[0]/pair[1]-1) > 1e-6 {
			t.Errorf("of a source that was never seen the rate has the %s %v, want %v", what, pair[0], pair[1])
		}
	}
}

// At the moment at which a source is seen there is nothing to expect, and ahead
// of the tick under way nothing is asked.
func TestOutlookAtTheMomentOfAPoll(t *testing.T) {
	l, _ := told(found(10.5))
	for _, hour := range []float64{10.5, 10.25, 3, -1000} {
		o := l.Outlook(hours(hour), 0)
		if o.Expected != 0 || o.Chance != 0 || !o.Since.Equal(hours(10.5)) || !o.At.Equal(hours(hour)) {
			t.Errorf("at hour %v, of a source seen at 10.5, the outlook is %+v", hour, o)
		}
		if !(o.Now.Low < o.Now.Mean && o.Now.Mean < o.Now.High) {
			t.Errorf("at hour %v the rate is %+v", hour, o.Now)
		}
	}
}

// The rate of an outlook moves with the hour, and its bounds with it.
func TestRateMovesWithTheHour(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.04})
	l.Put(monday, 0, page("h", 0), monday)
	for d := range 60 {
		l.Observe(time.Time{}, 0, same(float64(24*d)+8.75))
		l.Observe(time.Time{}, 0, found(float64(24*d)+10.25))
	}
	nine, evening := l.Outlook(hours(24*60+9.5), 0).Now, l.Outlook(hours(24*60+21.5), 0).Now
	by := nine.Mean / evening.Mean
	if by < 3 {
		t.Errorf("a source that changes at nine has the rate %v then, and %v in the evening", nine.Mean, evening.Mean)
	}
	if math.Abs(nine.Low/evening.Low/by-1) > 1e-9 || math.Abs(nine.High/evening.High/by-1) > 1e-9 {
		t.Errorf("the rate is %.3g times that of the evening, its bounds %.3g and %.3g times", by, nine.Low/evening.Low, nine.High/evening.High)
	}
}

// Chances fall into the tenth they are in, and 1 into the last.
func TestReliabilityBins(t *testing.T) {
	var r learn.Reliability
	if bins := r.Bins(); bins == nil || len(bins) != 0 || r.Gap() != 0 {
		t.Errorf("without polls there are the bins %v and the gap %v, want none", bins, r.Gap())
	}
	for _, poll := range []struct {
		chance float64
		found  bool
	}{{0, false}, {0.04, false}, {0.08, true}, {0.1, true}, {0.55, true}, {0.57, false}, {0.95, true}, {1, true}} {
		r.Add(poll.chance, poll.found)
	}
	want := []learn.ReliabilityBin{
		{From: 0, To: 0.1, Polls: 3, Said: 0.04, Found: 1.0 / 3},
		{From: 0.1, To: 0.2, Polls: 1, Said: 0.1, Found: 1},
		{From: 0.5, To: 0.6, Polls: 2, Said: 0.56, Found: 0.5},
		{From: 0.9, To: 1, Polls: 2, Said: 0.975, Found: 1},
	}
	got := r.Bins()
	if len(got) != len(want) {
		t.Fatalf("there are the bins %+v, want %+v", got, want)
	}
	for i := range want {
		for what, pair := range map[string][2]float64{
			"from": {got[i].From, want[i].From}, "to": {got[i].To, want[i].To}, "polls": {got[i].Polls, want[i].Polls},
			"said": {got[i].Said, want[i].Said}, "found": {got[i].Found, want[i].Found},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("bin %d has %s at %v, want %v", i, what, pair[0], pair[1])
			}
		}
	}
	// What was said and what was found, apart: 0.88, 0.9, 0.12 and 0.05 of 8.
	if got, want := r.Gap(), (0.88+0.9+0.12+0.05)/8; math.Abs(got-want) > 1e-12 {
		t.Errorf("the gap is %v, want %v", got, want)
	}
}
