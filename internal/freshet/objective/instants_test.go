package objective_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet/objective"
)

func TestSpan(t *testing.T) {
	tests := []struct {
		life       string
		age, after int
		want       bool
	}{
		{"overwrite", 9, 0, true}, {"overwrite", 0, 1, false},
		{"append", 1000, 1000, true},
		{"window:3m", 3, 9, true}, {"window:3m", 4, 0, false}, {"window:0s", 0, 0, true}, {"window:0s", 1, 0, false},
		{"window:3m59s", 3, 0, true}, {"window:3m59s", 4, 0, false}, {"window:59s", 1, 0, false}, {"window:59s", 0, 0, true},
		{"last:2", 99, 1, true}, {"last:2", 0, 2, false},
	}
	for _, tt := range tests {
		l, err := objective.ParseVisibility(tt.life)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.In(time.Minute).Lasts(tt.age, tt.after); got != tt.want {
			t.Errorf("%s: a change %d minutes old with %d after it lasts: %v, want %v", tt.life, tt.age, tt.after, got, tt.want)
		}
	}
}

// decays fails if a decay is not 1 at once, or grows.
func decays(t interface{ Errorf(string, ...any) }, u objective.Urgency, d objective.Decay) {
	if got := d.At(0); got != 1 {
		t.Errorf("%s is worth %g at once, want 1", u, got)
	}
	before := 1.0
	for _, age := range []float64{0.25, 1, 1.5, 2, 3, 10, 59, 60, 61, 1e3, 1e6, 1e9} {
		now := d.At(age)
		if now > before+1e-12 || now < 0 || math.IsNaN(now) {
			t.Errorf("%s goes from %g to %g after %g instants", u, before, now, age)
		}
		if age > d.End() && now != 0 {
			t.Errorf("%s ends after %g instants and is worth %g after %g", u, d.End(), now, age)
		}
		before = now
	}
}

// Every urgency is 1 at once and never grows.
func TestDecayFalls(t *testing.T) {
	for _, text := range []string{
		"uniform", "exp:0/1m", "exp:0.9/1m", "exp:1/1m", "window:0s", "window:7m", "poly:0.5/1m", "poly:2/1m", "poly:100/1w",
		"polyexp:0,0.3/1m", "polyexp:2,1/1m", "polyexp:16,100/1ns", "chordal:5m", "chordal:500ms", "table:1,0.5,0.5,0/1m", "table:1,0.5,0.5,0/1w", "half-life:1h",
	} {
		u, err := objective.ParseUrgency(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, instant := range []time.Duration{time.Second, time.Minute, day} {
			decays(t, u, u.In(instant))
		}
	}
}

// Where the unit is the instant, the numbers are those that were written: what
// was measured in instants stays as it was, to the bit.
func TestNumbersOfAnInstantStay(t *testing.T) {
	instants := []time.Duration{time.Second, 50 * time.Millisecond, 7 * time.Minute, 6 * time.Hour, day, day + 4}
	for text, want := range map[string]objective.Decay{
		"exp:0.9":         {Kind: objective.UrgencyExp, A: 0.9},
		"exp:0.123456789": {Kind: objective.UrgencyExp, A: 0.123456789},
		"window:7":        {Kind: objective.UrgencyWindow, A: 7},
		"poly:1.7":        {Kind: objective.UrgencyPoly, A: 1.7},
		"polyexp:3,0.3":   {Kind: objective.UrgencyPolyexp, K: 3, A: 0.3},
		"chordal:9.25":    {Kind: objective.UrgencyChordal, A: 9.25},
		"chordal:30":      {Kind: objective.UrgencyChordal, A: 30},
		"table:1,0.4,0.1": {Kind: objective.UrgencyTable, Table: []float64{1, 0.4, 0.1}},
	} {
		for _, instant := range instants {
			u, err := objective.ParseUrgencyIn(instant, text)
			if err != nil {
				t.Fatal(err)
			}
			got := u.In(instant)
			if got.Kind != want.Kind || got.K != want.K || got.Scale != 0 || got.String() != text {
				t.Errorf("%s in instants of %v is %+v (%s), want %+v", text, instant, got, got, want)
			}
			for age := range 40 {
				if a, b := got.At(float64(age)), want.At(float64(age)); a != b {
					t.Errorf("%s is worth %v after %d instants of %v, want %v", text, a, age, instant, b)
				}
			}
		}
	}
}

// However long an instant is, an urgency is worth as much after the same time.
func TestDecayKeepsItsUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{
			"uniform", "exp:0.5/1m", "exp:0.99/1s", "half-life:1h", "window:10m", "poly:0.5/1m", "poly:2/1s", "polyexp:2,0.01/1s", "polyexp:1,0.5/1m", "chordal:15m",
			"table:1,1,0.9,0.9,0.8,0.5,0.5,0.5,0.1/1s", "table:1,0.6,0.3,0.1/1m",
		}).Draw(t, "urgency")
		u, err := objective.ParseUrgency(text)
		if err != nil {
			t.Fatal(err)
		}
		ratio, after := rapid.IntRange(1, 3600).Draw(t, "ratio"), rapid.IntRange(0, 60).Draw(t, "instants")
		got, want := u.In(time.Duration(ratio)*time.Second).At(float64(after)), u.In(time.Second).At(float64(after*ratio))
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("%s is worth %v after %d instants of %d s, want %v", text, got, after, ratio, want)
		}
	})
}
