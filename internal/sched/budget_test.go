package sched_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/sched"
)

func TestParseBudget(t *testing.T) {
	tests := []struct {
		in    string
		polls float64
		per   time.Duration
	}{
		{"60/m", 60, time.Minute},
		{"500/s", 500, time.Second},
		{" 1000 / h ", 1000, time.Hour},
		{"5000/d", 5000, 24 * time.Hour},
		{"10/30s", 10, 30 * time.Second},
		{"0.5/minute", 0.5, time.Minute},
		{"2.5/1m30s", 2.5, 90 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			b, err := sched.ParseBudget(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if b.Polls != tt.polls || b.Per != tt.per {
				t.Errorf("%g polls per %v, want %g per %v", b.Polls, b.Per, tt.polls, tt.per)
			}
			again, err := sched.ParseBudget(b.String())
			if err != nil || again != b {
				t.Errorf("%q reads back as %v, %v", b.String(), again, err)
			}
		})
	}
}

func TestParseBudgetRefuses(t *testing.T) {
	for _, in := range []string{"", "60", "/m", "x/m", "-1/m", "0/m", "NaN/m", "Inf/s", "60/", "60/fortnight", "60/1ms", "1/10000h", "1e9/s"} {
		t.Run(in, func(t *testing.T) {
			_, err := sched.ParseBudget(in)
			invalid, ok := errors.AsType[*invalid.Error](err)
			if !ok || invalid.Field != "budget" || !strings.Contains(invalid.Reason, "60/m") {
				t.Errorf("error %v, want one that names the budget and shows how to write it", err)
			}
		})
	}
}

func FuzzParseBudget(f *testing.F) {
	f.Add("60/m")
	f.Add("1e6/1h0m1s")
	f.Fuzz(func(t *testing.T, in string) {
		b, err := sched.ParseBudget(in)
		if err != nil {
			return
		}
		if again, err := sched.ParseBudget(b.String()); err != nil || again != b {
			t.Errorf("%q is %+v, whose string %q reads as %+v, %v", in, b, b.String(), again, err)
		}
	})
}

// An idle source's budget comes to its rate: over a long time, neither more
// nor noticeably less is spent than the budget says, at any budget.
func TestBudgetComesToItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := sched.Budget{
			Polls: rapid.Float64Range(0.3, 40).Draw(t, "polls"),
			Per:   time.Duration(rapid.Int64Range(1, 100).Draw(t, "seconds")) * time.Second,
		}
		if rapid.Bool().Draw(t, "whole") {
			b.Polls = float64(int(b.Polls) + 1)
		}
		w := newWorld(sched.Limits{Budget: b, Workers: 1000, Hosts: sched.Politeness{Concurrency: 1000}})
		for i := range 100 {
			w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
		}
		const stretches = 50
		w.run(stretches * b.Per)
		want := b.Polls * stretches
		if got := float64(len(w.polls)); got > want+b.Polls+1 || got < 0.97*want-b.Polls-1 {
			t.Errorf("%g polls in %d stretches of a budget of %v, want about %g", got, stretches, b, want)
		}
	})
}
