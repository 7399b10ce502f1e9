package sched_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A visit counts against the budget and the delay of its host as a poll does, in both directions.
func TestVisits(t *testing.T) {
	limits := sched.Limits{Budget: sched.Budget{Polls: 3, Per: 30 * time.Second}, Workers: 4, Hosts: sched.Politeness{Delay: 10 * time.Second, Concurrency: 1}}
	s := sched.New(&policy.RoundRobin{}, limits)
	now := start
	var granted []string
	ask := func(v *sched.Visit, host string) {
		s.Apply(now, sched.Request{Visit: v, Host: host, Unsent: true, Answer: func(err error) {
			if err != nil {
				t.Fatalf("a request to %s is refused: %v", host, err)
			}
			granted = append(granted, host)
		}})
	}
	one, two := &sched.Visit{}, &sched.Visit{}
	ask(one, "a.example")
	ask(two, "a.example") // waits for the end of the other, and the delay after it
	s.Put(now, freshet.SourceWithStatus{Source: freshet.Source{ID: "x", URL: "http://a.example/x"}})
	if p, _, ok := s.Next(now); ok || len(granted) != 1 {
		t.Fatalf("while a visit is at the host %d requests are granted and %v is polled", len(granted), p.Source.ID)
	}
	now = now.Add(2 * time.Second)
	s.Apply(now, sched.VisitEnded{Visit: one})
	if _, wake, ok := s.Next(now); ok || len(granted) != 1 || wake.IsZero() || wake.After(now.Add(10*time.Second)) {
		t.Fatalf("within the delay of the host: a poll %v, %d requests, wakes at %v", ok, len(granted), wake)
	}
	now = now.Add(10 * time.Second)
	if _, _, ok := s.Next(now); ok || len(granted) != 2 { // who asked first goes first
		t.Fatalf("after the delay: a poll %v, %d requests granted; want the second visit alone", ok, len(granted))
	}
	s.Apply(now, sched.VisitEnded{Visit: two})
	now = now.Add(10 * time.Second)
	if p, _, ok := s.Next(now); !ok || p.Source.ID != "x" {
		t.Fatal("the source is not polled after the visits")
	}
	if used, most := s.Spent(now); used != 3 || most != 3 {
		t.Fatalf("%d of %d requests are spent, want 3 of 3", used, most)
	}
	three := &sched.Visit{}
	ask(three, "b.example") // waits for the budget
	if s.Next(now); len(granted) != 2 {
		t.Fatal("a visit exceeds the budget")
	}
	now = start.Add(32 * time.Second)
	if s.Next(now); len(granted) != 3 {
		t.Fatal("a visit does not get the room that the first one left")
	}
	s.Apply(now, sched.VisitEnded{Visit: three})
	s.Apply(now, sched.VisitEnded{Visit: three}) // once is enough, and twice does no harm
	if used, _ := s.Spent(now); used != 3 {
		t.Errorf("%d requests are counted at the end, want 3", used)
	}
}
