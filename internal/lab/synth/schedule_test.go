package synth_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"

	"github.com/google/go-cmp/cmp"
)

// The start is ten seconds past the minute.
func TestExactSchedules(t *testing.T) {
	s := time.Second
	tests := []struct {
		name     string
		schedule synth.Schedule
		want     []time.Duration // in the first 100 seconds
	}{
		{"never", synth.Never{}, nil},
		{"no schedule at all", nil, nil},
		{"regular", synth.Regular{Every: 40 * s}, []time.Duration{40 * s, 80 * s}},
		{"regular with an offset", synth.Regular{Every: 40 * s, Offset: 5 * s}, []time.Duration{5 * s, 45 * s, 85 * s}},
		{"regular with an offset in the past", synth.Regular{Every: 40 * s, Offset: -50 * s}, []time.Duration{30 * s, 70 * s}},
		{"regular without a distance", synth.Regular{}, nil},
		{"clockwork", synth.Clockwork{Marks: []time.Duration{30 * s, 5 * s}}, []time.Duration{20 * s, 55 * s, 80 * s}},
		{"clockwork on the very start", synth.Clockwork{Marks: []time.Duration{10 * s}}, []time.Duration{60 * s}},
		{"clockwork of another turn", synth.Clockwork{Turn: 20 * s, Marks: []time.Duration{0}}, []time.Duration{10 * s, 30 * s, 50 * s, 70 * s, 90 * s}},
		{"clockwork without marks", synth.Clockwork{}, nil},
		{"until", synth.Until{Schedule: synth.Regular{Every: 20 * s}, Stop: 40 * s}, []time.Duration{20 * s, 40 * s}},
		{"poisson without a mean", synth.Poisson{}, nil},
		{"burst without a mean", synth.Burst{}, nil},
		{"cycle without a mean", synth.Cycle{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []time.Duration
			for _, c := range one(synth.Page{Schedule: tt.schedule}).Changes("page", start, start.Add(100*s)) {
				got = append(got, c.Sub(start))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the changes are not as expected (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMeansAreKept(t *testing.T) {
	tests := []struct {
		name     string
		schedule synth.Schedule
		perHour  int
	}{
		{"poisson", synth.Poisson{Mean: time.Second}, 3600},
		{"cycle", synth.Cycle{Mean: time.Second, Depth: 0.8}, 3600},
		{"burst", synth.Burst{Quiet: 6 * time.Second, Count: 5, Gap: time.Second}, 1800},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := len(one(synth.Page{Schedule: tt.schedule}).Changes("page", start, start.Add(time.Hour)))
			if got < tt.perHour*9/10 || got > tt.perHour*11/10 {
				t.Errorf("%d changes in an hour, want about %d", got, tt.perHour)
			}
		})
	}
}

func TestNightIsQuiet(t *testing.T) {
	w := one(synth.Page{Schedule: synth.Cycle{Mean: time.Second, Day: time.Minute, Depth: 1}})
	day, night := 0, 0
	for _, c := range w.Changes("page", start, start.Add(time.Hour)) {
		if c.Sub(start)%time.Minute < 30*time.Second {
			day++
		} else {
			night++
		}
	}
	if day < 4*night {
		t.Errorf("%d changes by day and %d by night, want several times as many by day", day, night)
	}
}

func TestBurstsAreQuick(t *testing.T) {
	w := one(synth.Page{Schedule: synth.Burst{Quiet: time.Hour, Count: 4, Gap: time.Second}})
	changes := w.Changes("page", start, start.Add(100*time.Hour))
	if len(changes) < 40 {
		t.Fatalf("only %d changes in a hundred hours", len(changes))
	}
	bursts, ofFour, size := 0, 0, 1
	for i := 1; i < len(changes); i++ {
		if changes[i].Sub(changes[i-1]) < 15*time.Second {
			size++
			continue
		}
		bursts++
		if size == 4 {
			ofFour++
		}
		size = 1
	}
	if bursts < 70 || ofFour < bursts-2 { // two may come close together
		t.Errorf("of %d bursts %d have four changes, want all but a few", bursts, ofFour)
	}
}

func TestLatenessIsBounded(t *testing.T) {
	late := 3 * time.Second
	w := one(synth.Page{Schedule: synth.Clockwork{Marks: []time.Duration{20 * time.Second}, Late: late}})
	different := map[time.Duration]bool{}
	for _, c := range w.Changes("page", start, start.Add(time.Hour)) {
		by := c.Sub(c.Truncate(time.Minute)) - 20*time.Second
		if by < 0 || by > late {
			t.Errorf("a change is %v late, want at most %v", by, late)
		}
		different[by] = true
	}
	if len(different) < 30 {
		t.Errorf("only %d different delays in an hour", len(different))
	}
}

func TestTogetherPagesChangeTogether(t *testing.T) {
	const late = 2 * time.Second
	page := func(id freshet.SourceID, seed uint64) synth.Page {
		return synth.Page{ID: id, Schedule: synth.Together{Schedule: synth.Poisson{Mean: time.Minute}, Seed: seed, Late: late}}
	}
	w := synth.New(synth.Config{Start: start, Pages: []synth.Page{page("a", 1), page("b", 1), page("c", 2)}})
	at := func(id freshet.SourceID) []time.Time { return w.Changes(id, start, start.Add(time.Hour)) }
	a, b, c := at("a"), at("b"), at("c")
	if len(a) < 30 || len(a) != len(b) {
		t.Fatalf("two pages of one site changed %d and %d times in an hour, want as often, and often", len(a), len(b))
	}
	apart := 0
	for i := range a {
		if d := a[i].Sub(b[i]).Abs(); d >= late {
			t.Errorf("change %d of both came %v apart, want less than %v", i, d, late)
		}
		if i < len(c) && a[i].Sub(c[i]).Abs() >= late {
			apart++
		}
	}
	if apart == 0 {
		t.Error("a page of another site changed together with them")
	}
}
