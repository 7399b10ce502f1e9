package objective_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
	"freshet/internal/units"
)

const day = units.Day

func TestParseLife(t *testing.T) {
	for text, want := range map[string]objective.Visibility{
		"overwrite": {}, "append": {Kind: objective.VisibleForever}, "last:2": {Kind: objective.VisibleLast, N: 2},
		"window:10m": {Kind: objective.VisibleFor, For: 10 * time.Minute}, "window:0s": {Kind: objective.VisibleFor}, "window:1w": {Kind: objective.VisibleFor, For: 7 * day},
	} {
		if l, err := objective.ParseVisibility(text); err != nil || l != want {
			t.Errorf("%s is read as %+v (%v), want %+v", text, l, err, want)
		}
	}
	for _, bad := range []string{"", "apend", "window", "window:-1", "window:-1s", "window:x", "window:1.5", "window:1048577", "window:NaN", "last:0", "last:1m", "last", "append:1", "overwrite:2"} {
		_, err := objective.ParseVisibility(bad)
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != "life" {
			t.Errorf("%q gives %v, want an error that names the life", bad, err)
		}
	}
}

func TestParseUrgency(t *testing.T) {
	for text, want := range map[string]objective.Urgency{
		"uniform":            {},
		"exp:0.9/1m":         {Kind: objective.UrgencyExp, A: 0.9, Per: time.Minute},
		"exp:0.9/m":          {Kind: objective.UrgencyExp, A: 0.9, Per: time.Minute},
		"half-life:1h":       {Kind: objective.UrgencyExp, A: 0.5, Per: time.Hour},
		"window:10m":         {Kind: objective.UrgencyWindow, Width: 10 * time.Minute},
		"poly:2/1d":          {Kind: objective.UrgencyPoly, A: 2, Per: day},
		"polyexp:2,0.5/30s":  {Kind: objective.UrgencyPolyexp, K: 2, A: 0.5, Per: 30 * time.Second},
		"chordal:90s":        {Kind: objective.UrgencyChordal, Width: 90 * time.Second},
		"table:1, 0.5/1w":    {Kind: objective.UrgencyTable, Table: []float64{1, 0.5}, Per: 7 * day},
		"table:1,0.5 / hour": {Kind: objective.UrgencyTable, Table: []float64{1, 0.5}, Per: time.Hour},
	} {
		if u, err := objective.ParseUrgency(text); err != nil || !u.Equal(want) {
			t.Errorf("%s is read as %+v (%v), want %+v", text, u, err, want)
		}
	}
	for _, bad := range []string{
		"", "exp", "exp:1.1", "exp:-1", "exp:NaN", "exp:0.9/0s", "exp:0.9/", "exp:0.9/x", "exp:0.9/1m/1m", "exp:0.9,0.8/1m", "half-life", "half-life:0s", "half-life:-1h",
		"window:1.5", "window:-1", "window:-1m", "window:1m/1s", "window:Inf", "poly:-1", "polyexp:1", "polyexp:1.5,1", "polyexp:1/1m",
		"chordal:0", "chordal:0s", "table:", "table:/1m", "table:0.5", "table:1,2", "table:1,-1", "uniform:1", "uniform/1m", "linear:2",
	} {
		_, err := objective.ParseUrgency(bad)
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != "urgency" {
			t.Errorf("%q gives %v, want an error that names the urgency", bad, err)
		}
	}
}

// What was written before time had a unit means seconds, and is shown with them.
func TestOldSpelling(t *testing.T) {
	for old, want := range map[string]string{
		"uniform": "uniform", "exp:0": "exp:0/1s", "exp:0.9": "exp:0.9/1s", "exp:1": "exp:1/1s", "window:0": "window:0s", "window:7": "window:7s", "window:3600": "window:1h",
		"poly:0.5": "poly:0.5/1s", "polyexp:2,1": "polyexp:2,1/1s", "chordal:5": "chordal:5s", "chordal:0.5": "chordal:500ms", "chordal:1e-12": "chordal:1ns",
		"chordal:1e+06": "chordal:277h46m40s", "table:1,0.5,0.5,0": "table:1,0.5,0.5,0/1s",
	} {
		if u, err := objective.ParseUrgency(old); err != nil || u.String() != want {
			t.Errorf("the urgency %s is shown as %s (%v), want %s", old, u, err, want)
		}
	}
	for old, want := range map[string]string{"overwrite": "overwrite", "append": "append", "window:3": "window:3s", "window:0": "window:0s", "last:2": "last:2"} {
		if l, err := objective.ParseVisibility(old); err != nil || l.String() != want {
			t.Errorf("the life %s is shown as %s (%v), want %s", old, l, err, want)
		}
	}
	if u := (objective.Urgency{Kind: objective.UrgencyExp, A: 0.9}); u.String() != "exp:0.9/1s" {
		t.Errorf("an urgency without a unit is shown as %s, want a second", u)
	}
	if u, err := objective.ParseUrgencyIn(time.Minute, "exp:0.9"); err != nil || u.String() != "exp:0.9/1m" {
		t.Errorf("where time counts in minutes, exp:0.9 is %s (%v)", u, err)
	}
	if u, err := objective.ParseUrgencyIn(time.Minute, "exp:0.9/1h"); err != nil || u.String() != "exp:0.9/1h" {
		t.Errorf("where time counts in minutes, exp:0.9/1h is %s (%v)", u, err)
	}
	if l, err := objective.ParseVisibilityIn(5*time.Minute, "window:3"); err != nil || l.String() != "window:15m" {
		t.Errorf("where time counts in five minutes, window:3 is %s (%v)", l, err)
	}
	if l, err := objective.ParseVisibilityIn(7*day, "window:1048576"); err == nil {
		t.Errorf("a window that no duration can hold is read as %s", l)
	}
}

func TestUrgencyReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := objective.Urgency{Kind: objective.UrgencyTable, Table: []float64{1}, Per: time.Duration(rapid.Int64Range(1, int64(30*day)).Draw(t, "unit"))}
		for range rapid.IntRange(0, 9).Draw(t, "more") {
			u.Table = append(u.Table, u.Table[len(u.Table)-1]*rapid.Float64Range(0, 1).Draw(t, "factor"))
		}
		got, err := objective.ParseUrgency(u.String())
		if err != nil || !got.Equal(u) {
			t.Fatalf("%s reads back as %v, %v", u, got, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"polyexp:2,0.5", "last:9", "half-life:1h", "window:1w2d", "table:1,0.5/d", "chordal:0.5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if u, err := objective.ParseUrgency(s); err == nil {
			if again, err := objective.ParseUrgency(u.String()); err != nil || !again.Equal(u) {
				t.Errorf("%q is %s, which reads as %s, %v", s, u, again, err)
			}
			for _, instant := range []time.Duration{time.Millisecond, time.Second, 7 * time.Minute, day} {
				decays(t, u, u.In(instant))
			}
		}
		if l, err := objective.ParseVisibility(s); err == nil {
			if again, err := objective.ParseVisibility(l.String()); err != nil || again != l {
				t.Errorf("%q is %s, which reads as %s, %v", s, l, again, err)
			}
		}
	})
}
