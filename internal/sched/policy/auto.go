package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/ranking"
)

// Auto spends the budget where it is worth most by what it has learnt, and
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
// chosen in lots, so that there is a sample to go by.
//
// A budget is a ceiling. A source that has hardly changed by what is known of it
// is not polled, also where there is nothing else to spend the budget on. As the
// rate that is thought of a source falls while it stays quiet, so its polls get
// rarer, about in proportion to how long it has been quiet.
//
// Make one with NewAuto.
type Auto struct {
	learner *learn.Learner
	grid    ranking.Instants // at which sources are ranked anew
	reached int64            // the one for which they are, or are being ranked; -1 if they never were
	parts   []part
	lap     lap
	every   time.Duration // how long an instant is by which lives and urgencies count

	values []Value
	kinds  map[Pair]int32
	kind   []int32   // by slot: which of values
	worth  []float64 // by slot
	gaps   []float64 // scratch: since each was last seen, in ticks
	wait   []float64 // by slot: changes expected since then, when polls are given out
	credit []float64 // scratch: how many times what is thought that is
	had    []int64   // by slot: the instant in which it was last polled
	failed []int64   // by slot: when its last poll failed, in nanoseconds since 1970; 0 if it did not
	common float64   // changes a tick of a source, by what was last expected of all
	usual  usual
	rank   ranking.Parts
	margin margin
	least  float64 // changes that a poll is worth making for
	jitter float64
	draw   *rand.Rand

	aim    uint8         // of sources that have none of their own; a place in freshet.Aims
	aims   []uint8       // by slot
	held   []bool        // by slot: there is a source, and it counts in aiming
	aiming [aims]int     // sources by aim
	scale  [aims]float64 // of what polls are worth, by aim
	old    oldest

	listed []bool    // by slot: it is there to list pages, and not for itself
	beats  []beat    // scratch: the sources that keep to certain minutes, in the order of the slots
	told   []tell    // scratch: what indexes say, in the order of the slots
	given  []promise // scratch: what chances that were given say, in the order of the slots
	news   tidings   // that readings of indexes are expected to bring
	gather tidings   // the same, as far as the lap has come

	lot     lot
	strange []float64 // scratch: how little is known of the site of each
	limits  sched.Limits
	pledges []pledge // the sources with a service level, in the order of their slots
	stretch float64  // of the gaps that levels need, where all together need too much
	lifted  []bool   // by slot: it is worth what it is for its level
	known   []bool   // by slot: it is worth what it is for what an index says, or as an index
}

// An AutoConfig says how Auto sees time. The zero AutoConfig works.
type AutoConfig struct {
	Start   time.Time     // of the first instant; zero means when the first source is put
	Instant time.Duration // by which lives and urgencies count; zero means a minute
	Tick    time.Duration // by which Auto learns; zero means an instant
	Rank    time.Duration // how often sources are ranked anew; zero means every tick
	Polls   float64       // budget an instant, until it shows; zero means one

	// LeastChance is how likely a source has to have changed to be polled, however
	// much budget there is; 0 means that any chance will do. Once a day every
	// source is looked at, if the budget allows.
	LeastChance float64

	// Aim is what polls are for, of sources that do not say so themselves; "" means
	// captures.
	Aim freshet.Aim

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

// NewAuto returns an Auto that has learnt nothing.
func NewAuto(c AutoConfig) *Auto {
	c.Instant = cmp.Or(c.Instant, time.Minute)
	c.Tick = cmp.Or(c.Tick, c.Instant)
	c.Rank = cmp.Or(c.Rank, c.Tick)
	a := &Auto{
		learner: learn.New(learn.Config{Start: c.Start, Tick: c.Tick, Polls: c.Polls * float64(c.Tick) / float64(c.Instant)}),
		grid:    ranking.NewInstants(c.Start, c.Rank),
		every:   c.Instant,
		kinds:   map[Pair]int32{},
		reached: -1,
		least:   -math.Log1p(-min(c.LeastChance, 0.99)),
		jitter:  c.Jitter,
		draw:    rand.New(rand.NewPCG(c.Seed, 1)),
		scale:   [aims]float64{1, 1, 1},
		old:     oldest{times: c.Oldest},
		rank:    ranking.NewParts(cmp.Or(c.Part, partSize)),
	}
	a.aim = a.aimOf(c.Aim)
	return a
}

// Learner returns what Auto learns with.
func (a *Auto) Learner() *learn.Learner { return a.learner }

// OverrideForecast says how likely a source is to change at coming times, by what somebody gave; nil
// takes that back.
func (a *Auto) OverrideForecast(slot freshet.Slot, c *freshet.Chances) {
	a.learner.OverrideForecast(slot, c)
}

// Put implements [freshet.Policy].
func (a *Auto) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	a.grid.Begin(now)
	a.learner.Put(now, slot, s, since)
	for int(slot) >= len(a.kind) {
		a.kind, a.worth = append(a.kind, 0), append(a.worth, 0)
		a.gaps, a.wait, a.credit = append(a.gaps, 0), append(a.wait, 0), append(a.credit, 1)
		a.failed, a.lifted = append(a.failed, 0), append(a.lifted, false)
		a.had, a.strange = append(a.had, -1), append(a.strange, 0)
		a.listed, a.known = append(a.listed, false), append(a.known, false)
		a.aims, a.held = append(a.aims, 0), append(a.held, false)
		a.old.grow()
	}
	a.listed[slot] = s.Index
	a.pledge(slot, s)
	a.takeAim(slot, s)
	life, urgency := s.Life.In(a.every), s.Urgency.In(a.every)
	key := PairOf(life, urgency)
	kind, ok := a.kinds[key]
	if !ok {
		kind = int32(len(a.values))
		a.kinds[key] = kind
		a.values = append(a.values, NewValue(ValueConfig{Life: life, Urgency: urgency}))
	}
	a.kind[slot] = kind
	a.rank.Put(slot, s)
	a.stale(slot)
}

// Remove implements [freshet.Policy].
func (a *Auto) Remove(slot freshet.Slot) {
	a.learner.Remove(slot)
	a.rank.Remove(slot)
	a.lot.under = max(0, a.lot.under-1) // of what is under way there may be no news
	a.pledge(slot, freshet.Source{})
	a.dropAim(slot)
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
	a.lot.land(now.UnixNano())
	if int(slot) < len(a.worth) {
		a.worth[slot] = 0 // it has had its turn at this instant
		a.had[slot] = a.parts[a.rank.Of(slot)].reached
		a.failed[slot] = 0
		if !o.Result.Seen() {
			a.failed[slot] = o.Ended.UnixNano()
		}
	}
	a.renewNext(now)
}

// Choose implements [freshet.Policy].
func (a *Auto) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	a.grid.Begin(now)
	if behind := a.grid.Start.Sub(now); behind > 0 { // the clock was ahead when the count began
		a.grid.Start = a.grid.Start.Add(-behind.Truncate(a.grid.Length) - a.grid.Length)
		a.reached = -1
	}
	a.renew(now, n)
	a.rank.Offer(a.worth, a.lot.most(n), func(slot freshet.Slot, worth float64) bool {
		if !take(slot, worth) {
			return false
		}
		a.lot.take()
		a.old.took(slot)
		if expected := a.wait[slot]; !math.IsInf(expected, 1) && !a.lifted[slot] && !a.known[slot] { // out of turn, it says nothing of what others are worth
			a.margin.sold(worth, a.gain(slot))
			a.usual.add(worth/a.rank.Factor(slot), expected)
		}
		return true
	})
	return a.next(now)
}
