package sched_test

import (
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A hint puts off what the policy wants, up to the most that is allowed, and
// nothing else.
func TestHints(t *testing.T) {
	tests := []struct {
		name   string
		most   time.Duration
		fresh  time.Duration
		source freshet.Source
		result freshet.Result
		want   []time.Duration // of polls
	}{
		{"none", time.Hour, 0, freshet.Source{}, freshet.Unchanged, seconds(0, 10, 20, 30, 40, 50, 60)},
		{"a hint", time.Hour, 25 * time.Second, freshet.Source{}, freshet.Unchanged, seconds(0, 25, 50)},
		{"one that is too long", 20 * time.Second, time.Hour, freshet.Source{}, freshet.Unchanged, seconds(0, 20, 40, 60)},
		{"ignored", 0, time.Hour, freshet.Source{}, freshet.Unchanged, seconds(0, 10, 20, 30, 40, 50, 60)},
		{"a gap of its own", time.Hour, time.Hour, freshet.Source{MinGap: 15 * time.Second}, freshet.Unchanged, seconds(0, 15, 30, 45, 60)},
		{"a deadline", time.Hour, time.Hour, freshet.Source{MaxGap: 40 * time.Second}, freshet.Unchanged, seconds(0, 40)},
		{"belied at the deadline", time.Hour, time.Hour, freshet.Source{MaxGap: 40 * time.Second}, freshet.Changed, seconds(0, 40, 50, 60)},
		{"after a failure", time.Hour, time.Hour, freshet.Source{}, freshet.Failed, seconds(0, 10, 20, 30, 40, 50, 60)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget, l.Hints = sched.Budget{Polls: 6, Per: time.Minute}, tt.most
			l.Backoff = sched.Backoff{Start: time.Nanosecond, Most: time.Nanosecond}
			w := newWorld(l)
			w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.FreshFor = tt.result, tt.fresh }
			tt.source.ID, tt.source.URL = "a", "https://a.example/"
			w.put(tt.source)
			w.run(time.Minute)
			if got := w.times("a"); !slices.Equal(got, tt.want) {
				t.Errorf("polled at %v, want %v", got, tt.want)
			}
		})
	}
}

// A hint is named as what holds a poll back, gives way to who asks, goes on after a
// restart, and is forgotten with the URL.
func TestHintHolds(t *testing.T) {
	l := generous()
	l.Hints = time.Hour
	w := newWorld(l)
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.FreshFor = 10 * time.Minute }
	source := freshet.Source{ID: "a", URL: "https://a.example/"}
	w.put(source)
	w.run(time.Minute)
	h, _ := w.s.Hold(w.now, "a")
	if h.Kind != sched.HoldHint || !h.Until.Equal(start.Add(10*time.Minute)) || h.Kind.String() != "hint" || h.String() != "its server says that it stays fresh" {
		t.Errorf("it is held back by %s (%s) until %v", h.Kind, h, h.Until)
	}
	w.s.Ask("a")
	w.run(0)
	if got, want := w.times("a"), seconds(0, 60); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v: somebody asked", got, want)
	}
	for _, belied := range []bool{false, true} {
		after := newWorld(l)
		after.now = start.Add(2 * time.Minute)
		after.s.Put(after.now, freshet.SourceWithStatus{Source: source, Status: freshet.Status{
			Begun: start, Seen: start, Fresh: start.Add(10 * time.Minute), Belied: belied,
		}})
		after.run(10 * time.Minute)
		want := 10 * time.Minute
		if belied {
			want = 2 * time.Minute
		}
		if got := after.times("a")[0]; got != want {
			t.Errorf("after a restart it was polled at %v, want %v (belied: %t)", got, want, belied)
		}
	}
	source.URL = "https://a.example/other"
	w.put(source)
	if h, _ := w.s.Hold(w.now, "a"); h.Kind == sched.HoldHint {
		t.Errorf("another URL is held back by the hint of the old one until %v", h.Until)
	}
}
