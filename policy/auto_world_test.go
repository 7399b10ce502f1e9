package policy_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet"
	"freshet/lab"
	"freshet/policy"
	"freshet/sched"
)

// An autoRun is auto under the scheduler in a world of the lab.
type autoRun struct {
	auto   *policy.Auto
	trace  lab.Trace
	limits sched.Limits
	tick   time.Duration
	ticks  int
	unseen bool // the sources have not been seen before the run

	outcomes []freshet.Outcome
}

// newAutoRun returns a run of so many ticks, with a budget of so many polls in
// each, and no source.
func newAutoRun(tick time.Duration, ticks int, budget float64) *autoRun {
	return &autoRun{
		auto:  policy.NewAuto(policy.AutoConfig{Start: noon, Instant: tick, Polls: budget}),
		tick:  tick,
		ticks: ticks,
		trace: lab.Trace{Start: noon, End: noon.Add(time.Duration(ticks) * tick), Changes: map[freshet.SourceID][]time.Time{}},
		limits: sched.Limits{
			Budget:  sched.Budget{Polls: budget * 1024, Per: 1024 * tick, Instant: tick},
			Workers: 1 << 20,
			Hosts:   sched.Politeness{Concurrency: 1 << 20},
			Backoff: sched.Backoff{Start: 1, Most: 1, Gone: 1, Host: 1, RetryAfter: 1}, // no help for auto
		},
	}
}

// add adds a source that changes at random, so often a tick.
func (r *autoRun) add(s freshet.Source, rate float64) freshet.SourceID {
	i := len(r.trace.Sources)
	if s.ID == "" {
		s.ID = freshet.SourceID(fmt.Sprintf("s%04d", i))
	}
	if s.URL == "" {
		s.URL = fmt.Sprintf("https://h%d.example/", i)
	}
	r.trace.Sources = append(r.trace.Sources, s)
	draw := rand.New(rand.NewPCG(uint64(i), 99))
	for x := draw.ExpFloat64() / rate; x < float64(r.ticks); x += draw.ExpFloat64() / rate {
		r.trace.Changes[s.ID] = append(r.trace.Changes[s.ID], noon.Add(time.Duration(x*float64(r.tick))))
	}
	return s.ID
}

// run lets all of it happen. Look, if not nil, is called after every outcome.
func (r *autoRun) run(t *testing.T, look func(freshet.Outcome)) {
	t.Helper()
	s := sched.New(r.auto, r.limits)
	standing := freshet.Standing{Seen: noon}
	if r.unseen {
		standing = freshet.Standing{}
	}
	for _, source := range r.trace.Sources {
		s.Put(noon, freshet.Watched{Source: source, Standing: standing})
	}
	w := lab.NewWorld(&r.trace, func(o freshet.Outcome) {
		r.outcomes = append(r.outcomes, o)
		if look != nil {
			look(o)
		}
	})
	for _, source := range r.trace.Sources { // they have been seen: what comes first is a change, or none
		w.Begin(context.Background(), freshet.Poll{Source: source})
		if _, err := w.Wait(context.Background(), time.Time{}); err != nil {
			t.Fatalf("seeing %s for the first time: %v", source.ID, err)
		}
	}
	r.outcomes = nil
	if err := sched.Run(t.Context(), s, w); err != nil {
		t.Fatalf("running: %v", err)
	}
}

// polls returns how often a source was polled.
func (r *autoRun) polls(id freshet.SourceID) (n int) {
	for _, o := range r.outcomes {
		if o.Source == id {
			n++
		}
	}
	return n
}

// longestWait returns the longest time in ticks that any of the sources was not
// polled, and which.
func (r *autoRun) longestWait() (ticks float64, of freshet.SourceID) {
	last := map[freshet.SourceID]time.Time{}
	wait := func(id freshet.SourceID, until time.Time) {
		from, ok := last[id]
		if !ok {
			from = noon
		}
		if d := float64(until.Sub(from)) / float64(r.tick); d > ticks {
			ticks, of = d, id
		}
		last[id] = until
	}
	for _, o := range r.outcomes {
		wait(o.Source, o.Began)
	}
	for _, s := range r.trace.Sources {
		wait(s.ID, r.trace.End)
	}
	return ticks, of
}

// sound fails if anything that auto says is not a number that it could be.
func sound(t *testing.T, a *policy.Auto, now time.Time, slots int) {
	t.Helper()
	if p := a.Price(); !(p >= 0) || math.IsInf(p, 0) {
		t.Fatalf("the price of a poll is %v", p)
	}
	for slot := range slots {
		o := a.Outlook(now, freshet.Slot(slot))
		for what, x := range map[string]float64{
			"rate": o.Rate.Mean, "lowest rate": o.Rate.Low, "highest rate": o.Rate.High, "expected": o.Expected,
			"chance": o.Chance, "worth": o.Worth, "happened": o.Happened, "delay": o.Delay, "stale": o.Stale, "age": o.Age,
		} {
			if !(x >= 0) || math.IsInf(x, 0) {
				t.Fatalf("the %s of slot %d is %v", what, slot, x)
			}
		}
		if o.Chance > 1 {
			t.Fatalf("slot %d has changed with a chance of %v", slot, o.Chance)
		}
	}
}

// labEdit returns something other than a poll that happens.
func labEdit(at time.Time, e sched.Event) lab.Edit { return lab.Edit{At: at, Event: e} }
