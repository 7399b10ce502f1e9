package sched_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// hostile returns for how long a hostile server holds a poll, how many requests that
// takes, and whether it begins to answer. Of 42 kinds, ten are slow, and two of those
// never answer; one leads from redirect to redirect; the others fail at once.
func hostile(server int) (held time.Duration, requests int, seen bool) {
	switch kind := server % 42; {
	case kind < 2:
		return 15 * time.Second, 1, false
	case kind < 10:
		return 30 * time.Second, 1, true
	case kind == 10:
		return 10 * time.Millisecond, 6, true
	}
	return 10 * time.Millisecond, 1, true
}

// lateness lets good sources be polled for a minute as often as the budget allows, each
// once in ten seconds, among hostile ones that bring their share of the budget. It
// returns how late the good ones were on average.
func lateness(t *testing.T, name string, good, bad int) time.Duration {
	const period = 10 * time.Second
	budget := sched.Budget{Polls: float64(good+bad) / period.Seconds(), Per: time.Second}
	p, err := policy.New(name, policy.InDaemon(name, budget, good+bad))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(sched.Limits{})
	w.s = sched.New(p, sched.Limits{Workers: 64, Budget: budget, Hosts: sched.Politeness{Concurrency: 64}})
	server := map[freshet.SourceID]int{}
	var slow []freshet.Poll
	w.latency = func(p freshet.Poll) time.Duration {
		if i, is := server[p.Source.ID]; is {
			held, _, _ := hostile(i)
			return held
		}
		return 5 * time.Millisecond
	}
	w.answer = func(p freshet.Poll, o *freshet.Outcome) {
		if i, is := server[p.Source.ID]; is {
			o.Result, o.Failure = freshet.Failed, failure.Timeout
			_, o.Requests, _ = hostile(i)
			slow = append(slow, p)
		}
	}
	for i := range good {
		w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://good%d.example/%d", i%50, i)})
	}
	for i := range bad { // among the others, in the order of IDs
		name := id(i*good/bad) + "-hostile"
		server[name] = i
		w.put(freshet.Source{ID: name, URL: fmt.Sprintf("https://hostile%d.example/", i)})
	}
	for range 600 {
		w.run(100 * time.Millisecond)
		for len(slow) > 0 && !w.now.Before(slow[0].At.Add(time.Second)) {
			_, _, seen := hostile(server[slow[0].Source.ID])
			w.s.Apply(w.now, sched.SlowPoll{Source: slow[0].Source.ID, Begun: slow[0].At, Seen: seen})
			slow = slow[1:]
		}
	}
	last := map[freshet.SourceID]time.Time{}
	var late time.Duration
	for _, p := range w.polls {
		at, again := last[p.Source.ID]
		if _, is := server[p.Source.ID]; !is && again {
			late += max(0, p.At.Sub(at)-period)
		}
		last[p.Source.ID] = p.At
	}
	return late / time.Duration(len(w.polls)-good)
}

// Hostile servers, one beside twenty good sources, do not make the good ones late: they
// hold no worker, and take no more of the budget than the share that they bring.
func TestHostileServersMakeNobodyLate(t *testing.T) {
	for _, name := range []string{"uniform", "auto:least_chance=0%"} {
		t.Run(name, func(t *testing.T) {
			alone, among := lateness(t, name, 2000, 0), lateness(t, name, 2000, 100)
			t.Logf("late by %v alone, by %v among hostile servers", alone, among)
			if among > alone {
				t.Errorf("good sources are late by %v among hostile servers, and by %v alone", among, alone)
			}
		})
	}
}
