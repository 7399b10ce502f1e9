package sched_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A host that was shut when a source was offered is asked again as soon as its delay is
// made shorter, by the operator or by its robots.txt.
func TestShorterDelayOpensHost(t *testing.T) {
	long := sched.Limits{Budget: sched.Budget{Polls: 100, Per: time.Second}, Hosts: sched.Politeness{Delay: time.Hour, CrawlDelay: time.Hour}}
	short := long
	short.Hosts.Delay = time.Second
	for name, change := range map[string]struct {
		from sched.Limits
		make func(w *world)
	}{
		"limits": {long, func(w *world) { w.s.SetLimits(w.now, short) }},
		"robots.txt": {short, func(w *world) {
			w.s.Apply(w.now, sched.RobotsRead{Host: "a.example", Delay: time.Second})
		}},
	} {
		w := newWorld(change.from)
		if name == "robots.txt" {
			w.s.Apply(w.now, sched.RobotsRead{Host: "a.example", Delay: time.Hour})
		}
		for i := range 5 {
			w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
		}
		w.run(10 * time.Second) // one is polled, and the others are offered in vain
		before := len(w.polls)
		change.make(w)
		w.run(3 * time.Second)
		if before != 1 || len(w.polls) < 3 {
			t.Errorf("%s: %d polls before the delay was made shorter and %d after, want 1 and at least 2", name, before, len(w.polls)-before)
		}
	}
}
