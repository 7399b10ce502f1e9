package sched_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// Sources get the slots that are kept for them, in whatever order they come, and others those that are left. What
// was kept for a source that did not come is given out like any other when it is settled.
func TestSeatsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		s := sched.New(&policy.RoundRobin{}, sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}})
		slots := rapid.IntRange(1, 12).Draw(t, "slots")
		seats := map[freshet.SourceID]freshet.Slot{}
		var ids []freshet.SourceID
		for i, slot := range rapid.Permutation(numbers(slots)).Draw(t, "seats")[:rapid.IntRange(0, slots).Draw(t, "known")] {
			ids = append(ids, freshet.SourceID(fmt.Sprint("known", i)))
			seats[ids[i]] = freshet.Slot(slot)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "new") {
			ids = append(ids, freshet.SourceID(fmt.Sprint("new", i)))
		}
		s.Reserve(slots, seats)
		ids = rapid.Permutation(ids).Draw(t, "order")
		ids = ids[:rapid.IntRange(0, len(ids)).Draw(t, "come")]
		put := func(id freshet.SourceID) {
			s.Put(now, freshet.Watched{Source: freshet.Source{ID: id, URL: "https://a.example/" + string(id)}})
		}
		for _, id := range ids {
			put(id)
		}
		s.Settle()
		if s.Len() != len(ids) {
			t.Errorf("there are %d sources, want %d", s.Len(), len(ids))
		}
		taken := map[freshet.Slot]freshet.SourceID{}
		for _, id := range ids {
			slot, ok := s.Slot(id)
			if seat, kept := seats[id]; !ok || kept && seat != slot {
				t.Errorf("%s lies in slot %d (%v), want %d", id, slot, ok, seat)
			}
			if other, twice := taken[slot]; twice {
				t.Errorf("%s and %s lie in slot %d", id, other, slot)
			}
			taken[slot] = id
		}
		before := s.Slots()
		for i := range before - s.Len() {
			put(freshet.SourceID(fmt.Sprint("late", i)))
		}
		if put("last"); s.Len() != before+1 || s.Slots() != before+1 {
			t.Errorf("of %d slots some are not given out: %d sources lie in %d", before, s.Len(), s.Slots())
		}
	})
}

// numbers returns those from 0 on.
func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

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
		s.Put(now, freshet.Watched{Source: freshet.Source{ID: "a", URL: "https://a.example/"}})
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
