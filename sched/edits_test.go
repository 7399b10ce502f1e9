package sched_test

import (
	"testing"
	"time"

	"freshet"
	"freshet/policy"
	"freshet/sched"
)

// What those that learn go by is counted: what makes another order of sources than a start would, and the
// rest.
func TestEditsAreCounted(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := sched.New(&policy.RoundRobin{}, sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}})
	source := freshet.Source{ID: "a", URL: "https://a.example/"}
	put := func(change func(*freshet.Source)) func() {
		return func() {
			change(&source)
			s.Put(now, freshet.Watched{Source: source})
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want sched.Edits
	}{
		{"it comes", put(func(*freshet.Source) {}), sched.Edits{Seats: 1}},
		{"nothing", put(func(*freshet.Source) {}), sched.Edits{Seats: 1}},
		{"another name", put(func(s *freshet.Source) { s.Name, s.Weight = "x", 2 }), sched.Edits{Seats: 1}},
		{"another page", put(func(s *freshet.Source) { s.URL = "https://a.example/b" }), sched.Edits{Seats: 2}},
		{"tags", put(func(s *freshet.Source) { s.Tags = []string{"x"} }), sched.Edits{Seats: 3}},
		{"it is of a site", put(func(s *freshet.Source) { s.Of = "b" }), sched.Edits{Seats: 4}},
		{"it lists pages", put(func(s *freshet.Source) { s.Index = true }), sched.Edits{Seats: 5}},
		{"it is a site", put(func(s *freshet.Source) { s.Of, s.Site = "", &freshet.Site{} }), sched.Edits{Seats: 6}},
		{"a pause", put(func(s *freshet.Source) { s.Paused = true }), sched.Edits{Seats: 6, Traits: 1}},
		{"another life", put(func(s *freshet.Source) { s.Life = freshet.Life{Kind: freshet.LifeAppend} }), sched.Edits{Seats: 6, Traits: 2}},
		{"a level", func() {
			s.SetLevels(now, []freshet.TagLevel{{Tag: "x", Level: freshet.ServiceLevel{Within: time.Minute, Share: 0.5}}})
		}, sched.Edits{Seats: 6, Traits: 2}},
		{"it goes", func() { s.Remove("a") }, sched.Edits{Seats: 7, Traits: 2}},
		{"it is gone already", func() { s.Remove("a") }, sched.Edits{Seats: 7, Traits: 2}},
	} {
		if step.do(); s.Edits() != step.want {
			t.Errorf("%s: counted are %+v, want %+v", step.name, s.Edits(), step.want)
		}
	}
}
