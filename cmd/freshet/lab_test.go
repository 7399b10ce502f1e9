package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet"
	"freshet/lab"
	"freshet/plot"
	"freshet/policy"
)

// wellFormed returns what is wrong with a document as XML, if anything.
func wellFormed(doc string) error {
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestPicturesHoldWhateverNamesSay: names come from traces, which anybody may
// have written.
func TestPicturesHoldWhateverNamesSay(t *testing.T) {
	const evil = `<script>alert("x")</script>&]]>`
	p := picture{title: evil, about: evil, head: []string{evil}, rows: [][]string{{evil}}}
	p.charts = append(p.charts,
		plot.Chart{Title: evil, X: plot.Linear(evil, 0, 1), Y: plot.Linear(evil, 0, 0), Lines: []plot.Line{{Name: evil, Points: [][2]float64{{0, 0}, {1, 1}}}, {Name: evil}}},
		plot.Bars{Title: evil, Caption: evil, Bars: []plot.Bar{{Name: evil}, {Name: evil, Value: 1}}, Mark: 1, MarkName: evil})
	if err := wellFormed(p.svg()); err != nil {
		t.Errorf("the picture is not XML: %v", err)
	}
	if page := p.html(); strings.Contains(page, "<script") {
		t.Error("the page runs what a name says")
	}
}

func TestTimeTicksFollowTheCalendar(t *testing.T) {
	start := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		length time.Duration
		want   []string
	}{
		{5 * time.Hour, []string{"01-01 00:00", "01-01 01:00", "01-01 02:00", "01-01 03:00", "01-01 04:00", "01-01 05:00"}},
		{365 * day, []string{"2021-01-01", "2021-04-01", "2021-07-01", "2021-10-01", "2022-01-01"}},
	} {
		a := times(start, time.Minute, int(c.length/time.Minute))
		if diff := cmp.Diff(c.want, each(a.Ticks, func(k plot.Tick) string { return k.Label })); diff != "" {
			t.Errorf("ticks over %v (-want +got):\n%s", c.length, diff)
		}
	}
}

func TestCommasPartPoliciesAndTheirOptions(t *testing.T) {
	var f policiesFlag
	for _, v := range []string{"uniform", "sample-greedy:samples=10,share=0.3,wic, cam:slip=2,epoch=9"} {
		if err := f.Set(v); err != nil {
			t.Fatal(err)
		}
	}
	want := policiesFlag{"uniform", "sample-greedy:samples=10,share=0.3", "wic", "cam:slip=2,epoch=9"}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

// TestCaptureCurveEndsAtTheScore holds the picture against the figures.
func TestCaptureCurveEndsAtTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		changes := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 900), 0, 40), 1, 5).Draw(t, "changes")
		life, err := freshet.ParseLife(rapid.SampledFrom([]string{"overwrite", "append", "window:3", "last:2"}).Draw(t, "life"))
		if err != nil {
			t.Fatal(err)
		}
		trace := &labTrace{file: "x.csv", stakes: lab.Stakes{Life: life}}
		trace.grid = lab.NewGrid(time.Unix(0, 0).UTC(), time.Minute, 900, changes)
		curve := newCaptureCurve(trace)
		score, err := lab.Replay(t.Context(), trace.grid, &policy.Uniform{}, lab.Options{Budget: 0.5, Stakes: trace.stakes, Look: curve.look})
		if err != nil {
			t.Fatal(err)
		}
		captured, happened := curve.sums()
		last := func(points [][2]float64) int { return int(points[len(points)-1][1]) }
		if last(captured) != score.Captured || last(happened) != score.Changes {
			t.Fatalf("the curves end at %d of %d, the score says %d of %d", last(captured), last(happened), score.Captured, score.Changes)
		}
		late := 0.0
		for _, c := range delayChart(trace, trial{Score: score}).Columns {
			late += c.Height
		}
		if int(late) != score.Captured {
			t.Fatalf("the columns of delays add up to %v, want %d", late, score.Captured)
		}
	})
}
