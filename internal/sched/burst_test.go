package sched_test

import (
	"io"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A counter is a policy that wants nothing and counts how often it is asked.
type counter struct {
	never
	asked int
}

func (c *counter) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time {
	c.asked++
	return time.Time{}
}

// Edits that come together are all told before the policy is asked again, and looks
// do not have it asked at all. The policy goes through all sources each time: once
// for each of twenty thousand edits is minutes.
func TestRunDecidesOnceForMany(t *testing.T) {
	const many = 100
	put := func(i int) sched.Event {
		return sched.SourcePut{Source: freshet.SourceWithStatus{Source: freshet.Source{ID: id(i), URL: "https://a.example/"}}}
	}
	asked := func(events []sched.Event, together bool) int {
		c := &counter{}
		w := &script{t: t, now: start, end: io.EOF, events: events, together: together}
		if err := sched.Run(t.Context(), sched.New(c, generous()), w); err != nil {
			t.Fatal(err)
		}
		return c.asked
	}
	var edits, looks []sched.Event
	seen := 0
	for i := range many {
		edits = append(edits, put(i))
		looks = append(looks, sched.Call(func(_ time.Time, s *sched.Scheduler) { seen++ }))
	}
	for _, tt := range []struct {
		what     string
		events   []sched.Event
		together bool
		want     int
	}{
		{"edits one by one", edits, false, 1 + many},
		{"edits that come together", edits, true, 2},
		{"looks", looks, false, 1},
	} {
		if got := asked(tt.events, tt.together); got != tt.want {
			t.Errorf("%s: the policy is asked %d times, want %d", tt.what, got, tt.want)
		}
	}
	if seen != many {
		t.Errorf("%d looks were taken, want %d", seen, many)
	}
}

// A look that is taken when the next decision is due does not put it off.
func TestLooksDoNotPutOffPolls(t *testing.T) {
	limits := generous()
	limits.Budget = sched.Budget{Polls: 5, Per: 10 * time.Second}
	looks := make([]sched.Event, 9)
	for i := range looks {
		looks[i] = sched.Call(func(time.Time, *sched.Scheduler) {})
	}
	w := &script{t: t, now: start, end: io.EOF, events: looks}
	s := newWorld(limits).s
	for i := range 3 {
		s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: id(i), URL: "https://" + string(id(i)) + ".example/"}})
	}
	if err := sched.Run(t.Context(), s, w); err != nil {
		t.Fatal(err)
	}
	if len(w.did) < 2 {
		t.Errorf("while looks are taken for nine seconds the polls are %q, want one every two seconds", w.did)
	}
}

// A poll that somebody is in a hurry for does not wait for the MinGap of its source:
// the next one that is asked for, and no other.
func TestHurry(t *testing.T) {
	limits := generous()
	limits.Hosts.Delay = time.Minute
	w := newWorld(limits)
	w.s = sched.New(never{}, limits)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", MinGap: time.Hour})
	ask := func(hurry bool, wait time.Duration) {
		if hurry {
			w.s.Hurry("a")
		}
		w.s.Ask("a")
		w.run(wait)
	}
	polls := func(want int, when string) {
		t.Helper()
		if got := len(w.times("a")); got != want {
			t.Errorf("%s: %d polls, want %d", when, got, want)
		}
	}
	ask(false, time.Second)
	polls(1, "the first poll waits for nothing")
	ask(false, 10*time.Minute)
	polls(1, "asked for without a hurry it waits for the MinGap")
	w.s.Hurry("a")
	w.run(time.Second)
	polls(2, "a poll that was asked for before is hurried too")
	ask(false, 10*time.Minute)
	polls(2, "one hurried poll hurries no other")
	w.run(time.Hour)
	polls(3, "the MinGap has passed")

	w.s.Hurry("a")
	w.run(2 * time.Hour)
	polls(3, "a hurry alone asks for nothing")
	w.s.Ask("a")
	w.run(time.Second)
	w.s.Hurry("a")
	w.s.Ask("a")
	w.run(58 * time.Second)
	polls(4, "the delay of a host is kept, in a hurry too")
	w.run(2 * time.Second)
	polls(5, "when the delay of the host has passed")
	w.s.Hurry("nobody") // changes nothing
}
