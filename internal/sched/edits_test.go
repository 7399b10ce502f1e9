package sched_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// Edits of what those that learn go by are counted, and two Schedulers with other sources have another sum.
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
		want int
	}{
		{"it comes", put(func(*freshet.Source) {}), 1},
		{"nothing", put(func(*freshet.Source) {}), 1},
		{"another name", put(func(s *freshet.Source) { s.Name, s.Weight = "x", 2 }), 1},
		{"another page", put(func(s *freshet.Source) { s.URL = "https://a.example/b" }), 2},
		{"tags", put(func(s *freshet.Source) { s.Tags = []string{"x"} }), 3},
		{"it is of a site", put(func(s *freshet.Source) { s.Of = "b" }), 4},
		{"it lists pages", put(func(s *freshet.Source) { s.Index = true }), 5},
		{"it is a site", put(func(s *freshet.Source) { s.Of, s.Site = "", &freshet.Site{} }), 6},
		{"a pause", put(func(s *freshet.Source) { s.Paused = true }), 7},
		{"another life", put(func(s *freshet.Source) { s.Life = freshet.Life{Kind: freshet.LifeAppend} }), 8},
		{"a level", func() {
			s.SetLevels(now, []freshet.TagLevel{{Tag: "x", Level: freshet.ServiceLevel{Within: time.Minute, Share: 0.5}}})
		}, 8},
		{"it goes", func() { s.Remove("a") }, 9},
		{"it is gone already", func() { s.Remove("a") }, 9},
	} {
		before, sum := s.Edits(), s.Sum()
		if step.do(); s.Edits() != step.want {
			t.Errorf("%s: counted are %d, want %d", step.name, s.Edits(), step.want)
		}
		if (s.Sum() != sum) != (s.Edits() != before) {
			t.Errorf("%s: the sum was %x and is %x, after %d edits", step.name, sum, s.Sum(), s.Edits()-before)
		}
	}
	if s.Sum() != 0 {
		t.Errorf("without sources the sum is %x", s.Sum())
	}
}

// One that comes back while its last poll is under way was away, though it is what it was.
func TestComingBackIsAnEdit(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := sched.New(&policy.RoundRobin{}, sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}})
	source := freshet.Watched{Source: freshet.Source{ID: "a", URL: "https://a.example/"}}
	s.Put(now, source)
	sum := s.Sum()
	if _, _, ok := s.Next(now); !ok {
		t.Fatal("nothing is polled")
	}
	s.Remove("a")
	if s.Sum() != 0 || s.Edits() != 2 {
		t.Errorf("when it has gone the sum is %x after %d edits", s.Sum(), s.Edits())
	}
	s.Put(now, source)
	if s.Sum() != sum || s.Edits() != 3 {
		t.Errorf("when it is back the sum is %x after %d edits, want %x after 3", s.Sum(), s.Edits(), sum)
	}
}
