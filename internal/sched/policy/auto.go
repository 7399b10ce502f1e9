package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/sched"
	"freshet/internal/sched/ranking"
)

// Auto spends the budget where it is worth most by what it has learned, and
// needs no tuning. A [learn.Learner] says how many changes to expect of each
// source since it was last seen; the index of the source's life and urgency (see
// [Value]) says what it is worth to see them now rather than later, by its
// weight and for its cost; the sources of the highest worth are polled.
//
// The index is right for rates that are known. They are not: where the worth of
// changes decays, the index of a source that seems slow stays below the price for
// ever, right or wrong. So part of the worth is what is expected to be found,
// however old. It grows with the time since a source was seen, by the mean of all
// that its rate could be, and the rates that would make a poll worthwhile weigh
// in that mean by their size. That is all the exploration there is.
//
// Pages of a large site of which nothing is known are like the others of it: the
// first few that are polled are a sample, and if they have changed, the others
// are worth more at once. As a page's own outcomes come in, they take the place
// of the sample. Where a good part of all can be polled at one moment, polls are
// chosen in batches, so that there is a sample to go by.
//
// A budget is a limit. A source that has hardly changed by what is known of it
// is not polled, also where there is nothing else to spend the budget on. As the
// rate that is thought of a source falls while it stays quiet, so its polls get
// rarer, about in proportion to how long it has been quiet.
//
// Make one with NewAuto.
type Auto struct {
	learner    *learn.Learner
	step       time.Duration // by which visibilities and urgencies count
	byTick     bool          // sources are ranked again once a tick of the learner
	least      float64       // expected changes that make a poll worthwhile
	jitter     jitter
	rank       ranking.Parts
	passes     passes
	batch      batch
	values     valueTable
	objectives objectives
	levels     serviceLevels
	old        ageBound
	prices     prices
	indexes    indexWorths
	said       evidence // scratch: on the sources that are being ranked

	// By slot.
	worth  []float64
	wait   []float64 // changes expected since the source was last seen, when polls are given out
	gaps   []float64 // scratch: ticks since then
	credit []float64 // scratch: by how much more counts than is expected
	novel  []float64 // scratch: how little is known of the site
	had    []int64   // the step in which it was last polled
	failed []int64   // when its last poll failed, in nanoseconds since 1970; 0 if it did not
	index  []bool    // it is there to list pages, and not for itself
	lifted []bool    // its service level or its age makes its worth
	known  []bool    // an index hint makes its worth, or what its own hints are expected to bring
}

// An AutoConfig says how Auto sees time. The zero AutoConfig works.
type AutoConfig struct {
	Start   time.Time     // of the first instant; zero means when the first source is put
	Instant time.Duration // by which lives and urgencies count; zero means a minute
	Tick    time.Duration // by which Auto learns; zero means an instant
	Rank    time.Duration // how often sources are ranked again; zero means every tick
	Polls   float64       // budget an instant, until it shows; zero means one

	// LeastChance is how likely a source has to have changed to be polled, however
	// much budget there is; 0 means that any chance will do. Once a day every
	// source is looked at, if the budget allows.
	LeastChance float64

	// Aim is what polls are for, of sources that do not say so themselves; "" means
	// captures.
	Aim objective.Objective

	// Oldest bounds how old copies grow where polls are for captures: to so many times
	// what they would be on average by turns. 0 means that there is no bound.
	Oldest float64

	// Part is how many sources are ranked at a time; zero means as many as take some
	// milliseconds.
	Part int

	// Jitter blurs what polls are worth by this share, by chance: runs that
	// differ in the seed alone then show what is luck in a result.
	Jitter float64
	Seed   uint64
}

// NewAuto returns an Auto that has learned nothing.
func NewAuto(c AutoConfig) *Auto {
	c.Instant = cmp.Or(c.Instant, time.Minute)
	c.Tick = cmp.Or(c.Tick, c.Instant)
	c.Rank = cmp.Or(c.Rank, c.Tick)
	a := &Auto{
		learner: learn.New(learn.Config{Start: c.Start, Tick: c.Tick, Polls: c.Polls * float64(c.Tick) / float64(c.Instant)}),
		step:    c.Instant,
		byTick:  c.Rank == c.Tick,
		least:   -math.Log1p(-min(c.LeastChance, 0.99)),
		jitter:  jitter{c.Jitter, rand.New(rand.NewPCG(c.Seed, 1))},
		rank:    ranking.NewParts(cmp.Or(c.Part, partSize)),
		passes:  passes{steps: ranking.NewInstants(c.Start, c.Rank), reached: -1},
		values:  valueTable{kinds: map[Pair]int32{}},
		old:     ageBound{times: c.Oldest},
	}
	a.objectives.scale = [allObjectives]float64{1, 1, 1}
	a.objectives.usual = a.objectives.place(c.Aim)
	return a
}

// Learner returns what Auto learns with.
func (a *Auto) Learner() *learn.Learner { return a.learner }

// OverrideForecast sets how likely a source is to change at coming times, by an imported forecast;
// nil takes that back.
func (a *Auto) OverrideForecast(slot freshet.Slot, c *imported.Forecast) {
	a.learner.OverrideForecast(slot, c)
}

// Put implements [freshet.Policy].
func (a *Auto) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	a.passes.steps.Begin(now)
	a.learner.Put(now, slot, s, since)
	for int(slot) >= len(a.worth) {
		a.worth, a.wait, a.gaps = append(a.worth, 0), append(a.wait, 0), append(a.gaps, 0)
		a.credit, a.novel = append(a.credit, 1), append(a.novel, 0)
		a.had, a.failed = append(a.had, -1), append(a.failed, 0)
		a.index, a.lifted, a.known = append(a.index, false), append(a.lifted, false), append(a.known, false)
		a.values.kind = append(a.values.kind, 0)
		a.objectives.grow()
		a.old.grow()
	}
	a.index[slot] = s.Index
	a.levels.put(slot, s)
	a.objectives.put(slot, s)
	a.values.put(slot, s.Life.In(a.step), s.Urgency.In(a.step))
	a.rank.Put(slot, s)
	a.passes.expire(a.rank.Of(slot))
}

// Remove implements [freshet.Policy].
func (a *Auto) Remove(slot freshet.Slot) {
	a.learner.Remove(slot)
	a.rank.Remove(slot)
	a.batch.under = max(0, a.batch.under-1) // of what is under way there may be no news
	a.levels.put(slot, freshet.Source{})
	a.objectives.remove(slot)
	if int(slot) < len(a.failed) {
		a.failed[slot] = 0
	}
}

// SkipOutcome steps over an outcome that there is nothing to learn from.
func (a *Auto) SkipOutcome(o freshet.Cursor) { a.learner.SkipOutcome(o) }

// Observe implements [freshet.Policy].
func (a *Auto) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	a.learner.Observe(o.Ended, slot, o)
	a.rank.Land(slot)
	a.batch.land(now.UnixNano())
	if int(slot) < len(a.worth) {
		a.worth[slot] = 0 // it has had its turn at this step
		a.had[slot] = a.passes.parts[a.rank.Of(slot)].reached
		a.failed[slot] = 0
		if !o.Result.Seen() {
			a.failed[slot] = o.Ended.UnixNano()
		}
	}
	a.renewNext(now)
}

// Choose implements [freshet.Policy].
func (a *Auto) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	if tick := a.learner.Tick(); a.byTick && a.passes.steps.Length != tick {
		a.passes.restart(tick)
		for slot := range a.had {
			a.had[slot] = -1
		}
	}
	steps := &a.passes.steps
	steps.Begin(now)
	if behind := steps.Start.Sub(now); behind > 0 { // the clock was ahead when the count began
		steps.Start = steps.Start.Add(-behind.Truncate(steps.Length) - steps.Length)
		a.passes.reached = -1
	}
	a.renew(now, n)
	a.rank.Offer(a.worth, a.batch.most(n), func(slot freshet.Slot, worth float64) bool {
		if !take(slot, worth) {
			return false
		}
		a.batch.take()
		a.old.took(slot)
		if expected := a.wait[slot]; !math.IsInf(expected, 1) && !a.lifted[slot] && !a.known[slot] { // out of turn, it says nothing of what others are worth
			a.prices.sold(worth, a.gain(slot))
			a.prices.addChange(worth/a.rank.Factor(slot), expected)
		}
		return true
	})
	return a.passes.next(now)
}

// SetLimits sets the limits under which Auto chooses. Where sources are ranked in parts,
// each part goes by them when it is next ranked.
func (a *Auto) SetLimits(l sched.Limits) {
	if a.levels.limits = l; len(a.passes.parts) == 1 {
		a.passes.parts[0].reached = -1
	}
}

// Price returns what a poll has been worth of late at the margin of the budget:
// the least that was polled for. It is 0 while that is not known.
func (a *Auto) Price() float64 { return a.prices.price }

// A jitter blurs what polls are worth.
type jitter struct {
	share float64
	draw  *rand.Rand
}

// blur returns a worth, blurred.
func (j *jitter) blur(worth float64) float64 {
	if j.share > 0 {
		worth *= math.Exp(j.share * j.draw.NormFloat64())
	}
	return worth
}

// A valueTable holds the value of each pair of visibility and urgency that sources have.
type valueTable struct {
	values []Value
	kinds  map[Pair]int32
	kind   []int32 // by slot: which of values
}

// of returns the value of a source.
func (t *valueTable) of(slot int) *Value { return &t.values[t.kind[slot]] }

// put sets the value of a source, counted in steps.
func (t *valueTable) put(slot freshet.Slot, life objective.Span, urgency objective.Decay) {
	key := PairOf(life, urgency)
	kind, ok := t.kinds[key]
	if !ok {
		kind = int32(len(t.values))
		t.kinds[key] = kind
		t.values = append(t.values, NewValue(ValueConfig{Life: life, Urgency: urgency}))
	}
	t.kind[slot] = kind
}
