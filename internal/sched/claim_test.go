package sched_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A source behind redirects needs several requests, or several hosts, at once.
// Those that need one would fill every gap, so that it is never polled.
func TestBehindRedirectsIsPolled(t *testing.T) {
	tests := []struct {
		name     string
		polls    float64
		delay    time.Duration
		requests int
		route    freshet.Route
	}{
		{"several requests of a tight budget", 6, 0, 4, ""},
		{"several hosts that others are on", 12, 4 * time.Second, 4, "a.example b.example c.example"},
		{"several hosts, after a poll that failed at the first", 60, 4 * time.Second, 1, "a.example b.example c.example"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: tt.polls, Per: time.Minute}
			l.Hosts.Delay = tt.delay
			w := newWorld(l)
			w.latency = func(freshet.Poll) time.Duration { return 1300 * time.Millisecond }
			w.answer = func(p freshet.Poll, o *freshet.Outcome) {
				if p.Source.ID == "behind" {
					o.Requests, o.Route = tt.requests, tt.route
				}
			}
			for i, host := range []string{"a", "b", "c", "a", "b", "c"} {
				w.put(freshet.Source{ID: id(i), URL: "https://" + host + ".example/", MaxGap: time.Minute})
			}
			w.s.Put(w.now, freshet.SourceWithStatus{
				Source: freshet.Source{ID: "behind", URL: "https://a.example/old", MaxGap: 2 * time.Minute},
				Status: freshet.Status{Requests: tt.requests, Route: tt.route, Begun: start.Add(-time.Minute), Seen: start.Add(-time.Minute)},
			})
			w.run(20 * time.Minute)
			if n := len(w.times("behind")); n < 8 {
				t.Errorf("polled %d times in 20 minutes, want at least 8: its bound is 2 minutes", n)
			}
			for i := range 6 {
				if n := len(w.times(id(i))); n < 10 {
					t.Errorf("%s was polled %d times in 20 minutes, want at least 10", id(i), n)
				}
			}
		})
	}
}
