package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(i int) freshet.SourceID { return freshet.SourceID(fmt.Sprintf("s%04d", i)) }

// A world drives a scheduler by hand: every poll takes what latency says, and
// ends as answer says. Nil means no time at all, and unchanged.
type world struct {
	s       *sched.Scheduler
	now     time.Time
	latency func(freshet.Poll) time.Duration
	answer  func(freshet.Poll, *freshet.Outcome)
	polls   []freshet.Poll
	ends    []*freshet.Outcome // under way, in the order of their ends
}

func newWorld(l sched.Limits) *world {
	return &world{s: sched.New(&policy.Uniform{}, l), now: start}
}

// put adds a source. Where it has no path of its own, it is given one: each is polled for
// itself.
func (w *world) put(s freshet.Source) {
	if strings.HasSuffix(s.URL, ".example/") {
		s.URL += string(s.ID)
	}
	w.s.Put(w.now, freshet.SourceWithStatus{Source: s})
}

// run lets time pass, and returns when it has or when nothing more will happen.
func (w *world) run(d time.Duration) {
	until := w.now.Add(d)
	for {
		p, wake, ok := w.s.Next(w.now)
		if ok {
			w.begin(p)
			continue
		}
		if len(w.ends) > 0 && (wake.IsZero() || !w.ends[0].Ended.After(wake)) {
			if w.ends[0].Ended.After(until) {
				break
			}
			w.finish()
			continue
		}
		if wake.IsZero() || wake.After(until) {
			break
		}
		if !wake.After(w.now) {
			panic(fmt.Sprintf("asked to be woken at %v, and it is %v", wake, w.now))
		}
		w.now = wake
	}
	w.now = until
}

func (w *world) begin(p freshet.Poll) {
	w.polls = append(w.polls, p)
	o := freshet.Outcome{Source: p.Source.ID, Cause: p.Cause, Since: p.Since, Began: w.now, Ended: w.now, Requests: 1}
	if w.latency != nil {
		o.Ended = w.now.Add(w.latency(p))
	}
	if w.answer != nil {
		w.answer(p, &o)
	}
	w.ending(o)
	for _, c := range p.Along {
		its := o
		its.Source, its.Cause, its.Since, its.Requests = c.Source.ID, freshet.BySharing, c.Since, 0
		its.Route, its.NotBefore = "", time.Time{}
		w.ending(its)
	}
}

// ending puts an outcome among those to come.
func (w *world) ending(o freshet.Outcome) {
	at, _ := slices.BinarySearchFunc(w.ends, o.Ended, func(other *freshet.Outcome, ended time.Time) int {
		if other.Ended.After(ended) {
			return 1
		}
		return -1
	})
	w.ends = slices.Insert(w.ends, at, &o)
}

// finish ends the poll that ends first.
func (w *world) finish() {
	o := w.ends[0]
	w.ends = slices.Delete(w.ends, 0, 1)
	if o.Ended.After(w.now) {
		w.now = o.Ended
	}
	w.s.Observe(w.now, *o)
}

// times returns when a source was polled, counted from the start.
func (w *world) times(id freshet.SourceID) (at []time.Duration) {
	for _, p := range w.polls {
		if p.Source.ID == id {
			at = append(at, p.At.Sub(start))
		}
	}
	return at
}
