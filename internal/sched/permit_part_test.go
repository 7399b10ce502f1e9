package sched_test

import (
	"errors"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/rendering"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// shown is a source whose page is rendered.
func shown(name freshet.SourceID, host string) freshet.Source {
	return freshet.Source{ID: name, URL: "https://" + host + "/", Recipe: reading.Recipe{Render: rendering.Settings{On: true}}}
}

// askParts asks for so many parts at once, and returns how many have leave and the
// first refusal.
func askParts(s *sched.Scheduler, now time.Time, id freshet.SourceID, host string, n int) (granted *int, refused *error) {
	granted, refused = new(int), new(error)
	for range n {
		s.Apply(now, sched.Request{Source: id, Host: host, Part: true, Answer: func(err error) {
			if err == nil {
				*granted++
			} else if *refused == nil {
				*refused = err
			}
		}})
	}
	return granted, refused
}

func class(err error) failure.Class {
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return e.Class
	}
	return ""
}

// TestPartsCount wants every part of a rendered page to count in the budget, at once
// and until a stretch after the poll, without waiting for the delay of a host.
func TestPartsCount(t *testing.T) {
	s := sched.New(&policy.RoundRobin{}, sched.Limits{Budget: sched.Budget{Polls: 20, Per: time.Minute}, Workers: 4, Hosts: sched.Politeness{Delay: time.Second}})
	s.Put(start, freshet.SourceWithStatus{Source: shown("a", "a.example")})
	p, _, ok := s.Next(start)
	if !ok || p.Source.ID != "a" {
		t.Fatal("the page is not polled")
	}
	granted, refused := askParts(s, start, "a", "a.example", 10)
	more, _ := askParts(s, start, "a", "cdn.example", 5)
	if *granted != 10 || *more != 5 || *refused != nil {
		t.Fatalf("of 10 and 5 parts %d and %d have leave: %v", *granted, *more, *refused)
	}
	if used, most := s.Spent(start); used != 16 || most != 20 {
		t.Errorf("%d of %d requests are spent, want 16", used, most)
	}
	end := start.Add(2 * time.Second)
	s.Observe(end, freshet.Outcome{Source: "a", Began: start, Ended: end, Result: freshet.First, Requests: 16})
	if used, _ := s.Spent(end); used != 16 {
		t.Errorf("after the poll %d requests are spent, want 16", used)
	}
	// The next poll sets out only when there is room for as many again.
	at := end
	for {
		p, wake, ok := s.Next(at)
		if ok {
			if p.Source.ID != "a" || at.Before(end.Add(time.Minute)) {
				t.Errorf("%s is polled again after %v", p.Source.ID, at.Sub(end))
			}
			break
		}
		if wake.IsZero() || wake.After(end.Add(10*time.Minute)) {
			t.Fatal("the page is never polled again")
		}
		at = wake
	}
	if used, _ := s.Spent(at); used != 16 {
		t.Errorf("the next poll reserves %d requests, want 16", used)
	}
}

// TestPartsWithoutRoom wants a page that finds too little budget to be given up soon,
// and the next poll of it to reserve more; one that is larger than the budget says so.
func TestPartsWithoutRoom(t *testing.T) {
	limits := sched.Limits{Budget: sched.Budget{Polls: 20, Per: time.Minute}, Workers: 4}
	s := sched.New(&policy.RoundRobin{}, limits)
	s.Put(start, freshet.SourceWithStatus{Source: shown("a", "a.example")})
	s.Resume(start, []freshet.Attempt{{Source: "x", Began: start.Add(-time.Second), Ended: start.Add(-time.Second), Requests: 12}})
	if _, _, ok := s.Next(start); !ok {
		t.Fatal("the page is not polled")
	}
	granted, refused := askParts(s, start, "a", "a.example", 10)
	if *granted != 7 || *refused != nil {
		t.Fatalf("%d parts have leave, want the 7 that there is room for: %v", *granted, *refused)
	}
	_, wake, _ := s.Next(start)
	if wake.IsZero() || wake.After(start.Add(5*time.Second)) {
		t.Fatalf("the loop wakes at %v, too late to give the page up", wake)
	}
	late := start.Add(5 * time.Second)
	s.Next(late)
	if !class(*refused).Is(failure.DeferredBudget) || *granted != 7 {
		t.Errorf("the page was not given up: %v", *refused)
	}
	s.Observe(late, freshet.Outcome{Source: "a", Began: start, Ended: late, Result: freshet.Failed, Failure: class(*refused), Requests: 8})
	at := late
	for range 1000 {
		_, wake, ok := s.Next(at)
		if ok {
			break
		}
		at = wake
	}
	if used, _ := s.Spent(at); used != 13 {
		t.Errorf("the next poll reserves %d requests, want 13", used)
	}
	granted, refused = askParts(s, at, "a", "a.example", 30)
	if *granted != 19 || !class(*refused).Is(failure.DeferredBudget) {
		t.Errorf("of a page larger than the budget %d parts have leave, want 19, and then: %v", *granted, *refused)
	}
}

// TestPartsOfAHostThatIsAway wants no part to be asked of a host that wants to be left
// alone.
func TestPartsOfAHostThatIsAway(t *testing.T) {
	s := sched.New(&policy.RoundRobin{}, sched.Limits{Budget: sched.Budget{Polls: 20, Per: time.Minute}, Workers: 4})
	s.Put(start, freshet.SourceWithStatus{Source: shown("a", "a.example")})
	s.Next(start)
	s.Apply(start, sched.HostBackoff{Host: "cdn.example", For: time.Minute})
	if granted, refused := askParts(s, start, "a", "cdn.example", 1); *granted != 0 || !class(*refused).Is(failure.DeferredHost) {
		t.Errorf("%d parts have leave: %v", *granted, *refused)
	}
}

// TestRenderedPagesCostWhatTheyTook wants the policy to be told what a rendered page
// took, unless the user said what it costs.
func TestRenderedPagesCostWhatTheyTook(t *testing.T) {
	told := &priced{costs: map[freshet.Slot]float64{}}
	s := sched.New(told, sched.Limits{Budget: sched.Budget{Polls: 100, Per: time.Second}, Workers: 4})
	said := shown("b", "b.example")
	said.Cost = 5
	s.Put(start, freshet.SourceWithStatus{Source: shown("a", "a.example")})
	s.Put(start, freshet.SourceWithStatus{Source: said})
	s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: "c", URL: "https://c.example/"}})
	for _, o := range []struct {
		requests int
		want     float64
	}{{30, 30}, {32, 30}, {60, 60}, {10, 10}} {
		for _, id := range []freshet.SourceID{"a", "b", "c"} {
			s.Observe(start, freshet.Outcome{Source: id, Began: start, Ended: start, Result: freshet.Changed, Requests: o.requests})
		}
		for id, want := range map[freshet.SourceID]float64{"a": o.want, "b": 5, "c": 1} {
			slot, _ := s.Slot(id)
			if got := told.costs[slot]; got != want {
				t.Errorf("after %d requests the policy takes %s to cost %v, want %v", o.requests, id, got, want)
			}
		}
	}
}

// priced is a policy that remembers what it is told.
type priced struct {
	policy.RoundRobin
	costs map[freshet.Slot]float64
}

func (p *priced) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	p.costs[slot] = s.Price()
	p.RoundRobin.Put(now, slot, s, since)
}
