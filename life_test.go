package freshet_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet"
)

func TestLife(t *testing.T) {
	tests := []struct {
		life       string
		age, after int
		want       bool
	}{
		{"overwrite", 9, 0, true}, {"overwrite", 0, 1, false},
		{"append", 1000, 1000, true},
		{"window:3", 3, 9, true}, {"window:3", 4, 0, false}, {"window:0", 0, 0, true}, {"window:0", 1, 0, false},
		{"last:2", 99, 1, true}, {"last:2", 0, 2, false},
	}
	for _, tt := range tests {
		l, err := freshet.ParseLife(tt.life)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Lasts(tt.age, tt.after); got != tt.want {
			t.Errorf("%s: a change %d instants old with %d after it lasts: %v, want %v", tt.life, tt.age, tt.after, got, tt.want)
		}
		if l.String() != tt.life {
			t.Errorf("%s is written %s", tt.life, l)
		}
	}
	for _, bad := range []string{"", "apend", "window", "window:-1", "window:x", "last:0", "last", "append:1", "overwrite:2"} {
		_, err := freshet.ParseLife(bad)
		if invalid, ok := errors.AsType[*freshet.InvalidError](err); !ok || invalid.Field != "life" {
			t.Errorf("%q gives %v, want an error that names the life", bad, err)
		}
	}
}

// Every urgency is 1 at once and never grows, and is written as it is read.
func TestUrgency(t *testing.T) {
	for _, text := range []string{
		"uniform", "exp:0", "exp:0.9", "exp:1", "window:0", "window:7", "poly:0.5", "poly:2",
		"polyexp:0,0.3", "polyexp:2,1", "chordal:5", "chordal:0.5", "table:1,0.5,0.5,0",
	} {
		u, err := freshet.ParseUrgency(text)
		if err != nil {
			t.Fatal(err)
		}
		if u.String() != text {
			t.Errorf("%s is written %s", text, u)
		}
		if got := u.At(0); got != 1 {
			t.Errorf("%s is worth %g at once, want 1", text, got)
		}
		for d := 1; d < 50; d++ {
			if u.At(d) > u.At(d-1)+1e-12 || u.At(d) < 0 || math.IsNaN(u.At(d)) {
				t.Errorf("%s goes from %g to %g after %d instants", text, u.At(d-1), u.At(d), d)
			}
		}
	}
	for _, bad := range []string{"", "exp", "exp:1.1", "exp:-1", "exp:NaN", "window:1.5", "poly:-1", "polyexp:1", "polyexp:1.5,1", "chordal:0", "table:", "table:0.5", "table:1,2", "table:1,-1", "uniform:1", "linear:2"} {
		_, err := freshet.ParseUrgency(bad)
		if invalid, ok := errors.AsType[*freshet.InvalidError](err); !ok || invalid.Field != "urgency" {
			t.Errorf("%q gives %v, want an error that names the urgency", bad, err)
		}
	}
}

func TestUrgencyReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := freshet.Urgency{Kind: freshet.UrgencyTable, Table: []float64{1}}
		for range rapid.IntRange(0, 9).Draw(t, "more") {
			u.Table = append(u.Table, u.Table[len(u.Table)-1]*rapid.Float64Range(0, 1).Draw(t, "factor"))
		}
		got, err := freshet.ParseUrgency(u.String())
		if err != nil || !got.Equal(u) {
			t.Fatalf("%s reads back as %v, %v", u, got, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("polyexp:2,0.5")
	f.Add("last:9")
	f.Fuzz(func(t *testing.T, s string) {
		if u, err := freshet.ParseUrgency(s); err == nil {
			if again, err := freshet.ParseUrgency(u.String()); err != nil || !again.Equal(u) {
				t.Errorf("%q is %s, which reads as %s, %v", s, u, again, err)
			}
		}
		if l, err := freshet.ParseLife(s); err == nil {
			if again, err := freshet.ParseLife(l.String()); err != nil || again != l {
				t.Errorf("%q is %s, which reads as %s, %v", s, l, again, err)
			}
		}
	})
}
