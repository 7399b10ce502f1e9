package lab_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet"
	"freshet/lab"
)

// In longer instants an urgency is worth as much after the same time.
func TestScaledUrgency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"uniform", "exp:0.99", "window:600", "poly:0.5", "polyexp:2,0.01", "chordal:900", "table:1,1,0.9,0.9,0.8,0.5,0.5,0.5,0.1"}).Draw(t, "urgency")
		u, err := freshet.ParseUrgency(text)
		if err != nil {
			t.Fatal(err)
		}
		ratio := rapid.IntRange(1, 60).Draw(t, "ratio")
		after := rapid.IntRange(0, 60).Draw(t, "instants")
		got, want := lab.ScaledUrgency(u, float64(ratio)).At(after), u.At(after*ratio)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("%s is worth %v after %d instants of %d s, want %v", text, got, after, ratio, want)
		}
	})
}
