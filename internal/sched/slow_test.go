package sched_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// Servers that hold a poll for a minute do not hold up the others, for as long as no
// more of them do than may be slow. A request that was seen takes no more of the budget.
func TestSlowPollsGiveTheirPlaceAway(t *testing.T) {
	for _, tt := range []struct {
		name    string
		hostile int
		slow    int
		seen    bool
		least   int // polls of good sources in the minute after the hostile ones have begun to hold theirs
		most    int
	}{
		{"none is hostile", 0, 0, false, 590, 600},
		{"half of the budget, seen", 5, 0, true, 590, 600},
		{"half of the budget, unseen", 5, 0, false, 290, 300},
		{"more than there are workers", 10, 0, true, 590, 600},
		{"many times as many", 60, 0, true, 590, 600},
		{"as many as workers, and none may be slow", 8, -1, true, 0, 0},
		{"more than may be slow", 60, 20, true, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(sched.Limits{Workers: 8, Slow: tt.slow, Budget: sched.Budget{Polls: 10, Per: time.Second}, Hosts: sched.Politeness{Concurrency: 8}})
			w.latency = func(p freshet.Poll) time.Duration {
				if p.Source.Host() == "good.example" {
					return time.Millisecond
				}
				return time.Hour
			}
			for i := range tt.hostile {
				w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/", i)})
			}
			for range 60 { // until all of them hold a poll
				w.run(time.Second)
				for _, p := range w.polls {
					w.s.Apply(w.now, sched.SlowPoll{Source: p.Source.ID, Begun: p.At, Seen: tt.seen})
				}
			}
			w.polls = nil
			for i := range 100 {
				w.put(freshet.Source{ID: id(1000 + i), URL: "https://good.example/"})
			}
			w.run(time.Minute)
			if n := len(w.polls); n < tt.least || n > tt.most {
				t.Errorf("%d polls in a minute, want %d to %d", n, tt.least, tt.most)
			}
		})
	}
}

// A poll that was slow and seen, and then is led on by a redirect, counts each request
// once: of five that the budget allows, the first poll takes two and the second three.
func TestSlowAndLedOn(t *testing.T) {
	w := newWorld(sched.Limits{Budget: sched.Budget{Polls: 5, Per: time.Hour}})
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Requests = 2 }
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", MinGap: 45 * time.Minute})
	w.run(30 * time.Minute)
	w.latency = func(freshet.Poll) time.Duration { return time.Hour }
	for len(w.polls) < 2 {
		w.run(time.Minute)
	}
	p := w.polls[len(w.polls)-1]
	w.s.Apply(w.now, sched.SlowPoll{Source: "a", Begun: p.At, Seen: true})
	w.s.Apply(w.now, sched.SlowPoll{Source: "a", Begun: p.At, Seen: true}) // told twice
	for i, want := range []bool{true, true, false} {
		granted := false
		w.s.Apply(w.now, sched.Request{Source: "a", Host: fmt.Sprintf("h%d.example", i), Answer: func(err error) { granted = err == nil }})
		if granted != want {
			t.Fatalf("redirect %d has leave: %t, want %t", i+1, granted, want)
		}
	}
}
