package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// An autoRun is auto under the scheduler in a world of the lab.
type autoRun struct {
	lab.Options
	auto    *policy.Auto
	limits  sched.Limits
	tick    time.Duration
	ticks   int
	end     time.Time
	sources []freshet.Source // in the order of their ids
	changes map[freshet.SourceID][]time.Time

	outcomes []freshet.Outcome
}

// newAutoRun returns a run of so many ticks, with a budget of so many polls in
// each, and no source.
func newAutoRun(tick time.Duration, ticks int, budget float64) *autoRun {
	return &autoRun{
		Options: lab.Options{Budget: budget, Conditions: lab.Conditions{Continuous: true}},
		auto:    policy.NewAuto(policy.AutoConfig{Start: noon, Instant: tick, Polls: budget}),
		tick:    tick,
		ticks:   ticks,
		end:     noon.Add(time.Duration(ticks) * tick),
		changes: map[freshet.SourceID][]time.Time{},
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
	i := len(r.sources)
	if s.ID == "" {
		s.ID = freshet.SourceID(fmt.Sprintf("s%04d", i))
	}
	if s.URL == "" {
		s.URL = fmt.Sprintf("https://h%d.example/", i)
	}
	r.sources = append(r.sources, s)
	r.changes[s.ID] = nil
	draw := rand.New(rand.NewPCG(uint64(i), 99))
	for x := draw.ExpFloat64() / rate; x < float64(r.ticks); x += draw.ExpFloat64() / rate {
		r.changes[s.ID] = append(r.changes[s.ID], noon.Add(time.Duration(x*float64(r.tick))))
	}
	return s.ID
}

// grid returns what the sources do.
func (r *autoRun) grid(t *testing.T) *lab.Grid {
	var pages []freshet.SourceID
	for _, s := range r.sources {
		pages = append(pages, s.ID)
	}
	history := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for id, changes := range r.changes {
			for _, at := range changes {
				if !yield(id, at) {
					return
				}
			}
		}
	}, pages...)
	g, err := history.Quantise(lab.Period{Start: noon, End: r.end, Instant: r.tick})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(g.Pages(), pages) {
		t.Fatal("the sources are not in the order of their ids")
	}
	return g
}

// run lets all of it happen. Look, if not nil, is called after every outcome.
func (r *autoRun) run(t *testing.T, look func(freshet.Outcome)) {
	t.Helper()
	o := r.Options
	o.Limits = &r.limits
	o.Weights.Adjust = func(page int, s *freshet.Source) { *s = r.sources[page] }
	o.Observe = func(o freshet.Outcome) {
		r.outcomes = append(r.outcomes, o)
		if look != nil {
			look(o)
		}
	}
	if _, err := lab.Replay(t.Context(), r.grid(t), r.auto, o); err != nil {
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
	for _, s := range r.sources {
		wait(s.ID, r.end)
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
			"rate": o.Now.Mean, "lowest rate": o.Now.Low, "highest rate": o.Now.High, "expected": o.Expected,
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
