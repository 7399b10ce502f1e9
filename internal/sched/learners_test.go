package sched_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A learner is past an outcome from which there is nothing to learn: its source may be back when somebody starts from
// what it saved.
func TestOutcomesAreNotLearntFromLater(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, make := range map[string]func() (*sched.Scheduler, *learn.Learner){
		"beside a policy": func() (*sched.Scheduler, *learn.Learner) {
			l := learn.New(learn.Config{})
			return sched.New(&policy.RoundRobin{}, sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}}, l), l
		},
		"of a policy": func() (*sched.Scheduler, *learn.Learner) {
			auto := policy.NewAuto(policy.AutoConfig{Instant: time.Second, Tick: time.Second, Polls: 1})
			return sched.New(auto, sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}}), auto.Learner()
		},
	} {
		s, l := make()
		s.Put(now, freshet.SourceWithStatus{Source: freshet.Source{ID: "a", URL: "https://a.example/"}})
		s.Observe(now, freshet.Outcome{Cursor: 5, Source: "b", Began: now, Ended: now})
		if l.Upto() != 5 {
			t.Errorf("%s: after an outcome of a source that was never there it is at %d", name, l.Upto())
		}
		if _, _, ok := s.Next(now); !ok {
			t.Fatalf("%s: nothing is polled", name)
		}
		s.Remove("a")
		s.Observe(now, freshet.Outcome{Cursor: 7, Source: "a", Began: now, Ended: now})
		if l.Upto() != 7 {
			t.Errorf("%s: after an outcome of a source that had gone it is at %d", name, l.Upto())
		}
	}
}
