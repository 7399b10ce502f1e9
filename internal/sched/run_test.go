package sched_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A script is a world in which one thing after another happens, a second apart,
// and then it ends. It notes what the loop does.
type script struct {
	t      *testing.T
	now    time.Time
	events []sched.Event
	end    error
	did    []string

	together bool // the events come as one burst
}

func (w *script) Now() time.Time { return w.now }

func (w *script) Begin(_ context.Context, p freshet.Poll) {
	w.did = append(w.did, fmt.Sprintf("%s by %s", p.Source.ID, p.Cause))
}

func (w *script) Wait(_ context.Context, alarm time.Time) (ev sched.Event, more bool, err error) {
	if !alarm.IsZero() && !alarm.After(w.now) {
		w.t.Errorf("the loop waits at %v for %v", w.now, alarm)
	}
	if len(w.events) == 0 {
		return nil, false, w.end
	}
	ev = w.events[0]
	w.events = w.events[1:]
	w.now = w.now.Add(time.Second)
	return ev, w.together && len(w.events) > 0, nil
}

// Run does what each event asks for, and polls in between.
func TestRun(t *testing.T) {
	ended := func(id freshet.SourceID) sched.Event {
		return sched.PollEnded{Outcome: &freshet.Outcome{Source: id, Result: freshet.Unchanged, Requests: 1}}
	}
	put := func(id freshet.SourceID, paused bool) sched.Event {
		return sched.SourcePut{Source: freshet.SourceWithStatus{Source: freshet.Source{ID: id, URL: "https://a.example/" + string(id), Paused: paused}}}
	}
	limits := generous()
	limits.Workers = 1
	wider := generous()
	wider.Workers = 2
	var looked time.Time
	w := &script{t: t, now: start, end: io.EOF, events: []sched.Event{
		put("a", false),                  // polled at once
		put("b", false),                  // has to wait: there is one worker
		nil,                              // an alarm, and nothing else
		ended("a"),                       // now b
		put("c", true),                   //
		sched.LimitsSet{Limits: wider},   // now a again, but not c
		sched.PollRequested{Source: "c"}, // has to wait
		ended("b"),                       // now c
		sched.SourceRemoved{Source: "b"}, //
		ended("c"),                       // not b
		sched.Call(func(now time.Time, s *sched.Scheduler) {
			looked = now
			if _, ok := s.Slot("b"); ok {
				t.Error("a source that was removed is still there")
			}
		}),
	}}
	if err := sched.Run(t.Context(), sched.New(&policy.Uniform{}, limits), w); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a by policy", "b by policy", "a by policy", "c by hand"}; !slices.Equal(w.did, want) {
		t.Errorf("the polls are %q, want %q", w.did, want)
	}
	if want := start.Add(11 * time.Second); !looked.Equal(want) {
		t.Errorf("a look was taken at %v, want %v", looked, want)
	}
}

// Run returns what the world failed with, and nil at its end.
func TestRunEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct{ end, want error }{
		{io.EOF, nil}, {fmt.Errorf("no more: %w", io.EOF), nil}, {broken, broken}, {context.Canceled, context.Canceled},
	} {
		w := &script{t: t, now: start, end: tt.end}
		if err := sched.Run(t.Context(), sched.New(never{}, generous()), w); !errors.Is(err, tt.want) {
			t.Errorf("a world that ends with %v ends the loop with %v, want %v", tt.end, err, tt.want)
		}
	}
}
