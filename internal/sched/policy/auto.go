package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
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
// chosen in lots, so that there is a sample to go by.
//
// A budget is a limit. A source that has hardly changed by what is known of it
// is not polled, also where there is nothing else to spend the budget on. As the
// rate that is thought of a source falls while it stays quiet, so its polls get
// rarer, about in proportion to how long it has been quiet.
//
// Make one with NewAuto.
type Auto struct {
	learner  *learn.Learner
	grid     ranking.Instants // at which sources are ranked again
	reached  int64            // the one for which they are, or are being ranked; -1 if they never were
	parts    []part
	fullPass fullPass
	every    time.Duration // how long an instant is by which lives and urgencies count

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

	listed  []bool         // by slot: it is there to list pages, and not for itself
	rhythms []minuteRhythm // scratch: the sources that keep to certain minutes, in the order of the slots
	told    []tell         // scratch: what indexes say, in the order of the slots
	given   []promise      // scratch: what chances that were given say, in the order of the slots
	news    tidings        // that readings of indexes are expected to bring
	gather  tidings        // the same, as far as the pass has come

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

// Sources are ranked in parts: where there are many, one after the other within the time
// between two rankings, so that no choice waits until all have been looked at. What each
// is worth is then worked out at another moment, and as often as if all were looked at
// at once. Sources that fit in one part are ranked at once, and so are all where the
// policy is asked only at the beginning of that time: it has no other moment.

// partSize is how many sources are ranked at a time. To look at one takes about half a
// microsecond.
const partSize = 1 << 14

// A part is what is known of some sources, neighbours by slot, from when they were last
// looked at.
type part struct {
	reached int64     // the instant for which they are ranked; -1 if they are to be ranked soon
	due     time.Time // when they are ranked again before their turn, because one says that it changes; zero if none does

	// Sums over them that say how they compare to all.
	changes, ticks    float64 // expected, and in which time
	needs             float64 // polls a second for service levels
	ages, aged        float64 // weighted ages of copies by turns, and of how many
	aimWorth, aimedAt [aims]float64
}

// mostStale is how many parts are ranked out of turn at one choice, because of edits.
const mostStale = 2

// A fullPass is the ranking of all parts, each in its turn.
type fullPass struct {
	next    int       // the part whose turn it is
	most    int       // polls that could be chosen when it was last asked
	whole   bool      // all were ranked at once
	asked   time.Time // when the last choice in it was
	gathers bool      // what is being ranked is in its turn, and its tidings are gathered
}

// soonest is the part of the time between two rankings after which there can be another one
// because a source says that it changes.
const soonest = 0.25

// renew ranks what is to be ranked before n polls are chosen at now.
func (a *Auto) renew(now time.Time, n int) {
	at := a.grid.At(now)
	alone := len(a.parts) == 1
	early := alone && (a.parts[0].reached < 0 || a.parts[0].expired(now))
	first, seldom := a.reached < 0, a.fullPass.asked.Before(a.passTime(lateInPass))
	fresh := at != a.reached || early
	if a.lot.next(now.UnixNano(), fresh, n, len(a.worth)) {
		if !fresh || first || seldom || alone || a.lot.size > 0 {
			a.reached, a.fullPass = at, fullPass{next: len(a.parts), whole: true}
			a.margin.close()
			a.rankParts(now, n, 0, len(a.parts), true)
		}
	}
	if !alone {
		a.renewSome(now, at, n)
	}
	a.fullPass.asked = now
}

// renewSome ranks the parts whose turn it is, and some that cannot wait.
func (a *Auto) renewSome(now time.Time, at int64, n int) {
	if at != a.reached {
		if a.fullPass.next < len(a.parts) { // which the last pass has left
			a.rankParts(now, n, a.fullPass.next, len(a.parts), true)
		}
		a.reached, a.fullPass = at, fullPass{}
		a.margin.close()
	}
	a.fullPass.most = n
	for a.renewNext(now) {
	}
	stale := 0
	for i := range a.parts {
		if p := &a.parts[i]; (p.reached < 0 || p.expired(now)) && stale < mostStale {
			a.rankParts(now, n, i, i+1, false)
			stale++
		}
	}
}

// renewNext ranks the part whose turn it is, and reports whether there is one. Outcomes
// do that, too: there are more of them than choices.
func (a *Auto) renewNext(now time.Time) bool {
	if a.reached < 0 || a.fullPass.next >= len(a.parts) || now.Before(a.turn(a.fullPass.next)) {
		return false
	}
	a.rankParts(now, a.fullPass.most, a.fullPass.next, a.fullPass.next+1, true)
	a.fullPass.next++
	return true
}

// turn returns when the turn of a part comes in this pass.
func (a *Auto) turn(part int) time.Time { return a.passTime(float64(part) / float64(len(a.parts))) }

// lateInPass is after which share of a pass there has to be a choice, for parts to be
// ranked in turn.
const lateInPass = 0.75

// passTime returns when such a share of this pass has passed.
func (a *Auto) passTime(share float64) time.Time {
	began := a.grid.Time(a.reached).Add(-a.grid.Length / 2)
	return began.Add(time.Duration(float64(a.grid.Length) * share))
}

// expired reports whether a source of the part says that it has changed by now.
func (p *part) expired(now time.Time) bool { return !p.due.IsZero() && !now.Before(p.due) }

// rankParts works out what polls of the sources of some parts are worth, and ranks them:
// in their turn, or because they cannot wait for it.
func (a *Auto) rankParts(now time.Time, n, from, to int, inTurn bool) {
	a.fullPass.gathers = inTurn
	for i := from; i < to; i++ {
		a.parts[i].reached = a.reached
		a.look(now, i)
	}
	a.value(now, from, to)
	for i := from; i < to; i++ {
		a.rank.Rank(i, a.worth, a.lot.most(n))
	}
}

// look works out when the next source of a part says that it changes.
func (a *Auto) look(now time.Time, i int) {
	p := &a.parts[i]
	from, to := a.rank.Bounds(i, len(a.worth))
	if p.due = a.learner.NextDue(now, freshet.Slot(from), freshet.Slot(to)); p.due.IsZero() {
		return
	}
	if least := now.Add(time.Duration(soonest * float64(a.grid.Length))); p.due.Before(least) {
		p.due = least
	}
}

// next returns when sources are ranked again.
func (a *Auto) next(now time.Time) time.Time {
	next := a.grid.Time(a.reached + 1)
	if !a.fullPass.whole && len(a.parts) > 1 {
		next = a.turn(a.fullPass.next)
	}
	for i := range a.parts {
		p := &a.parts[i]
		if p.reached < 0 { // at once, which is at the next instant
			return now
		}
		if !p.due.IsZero() && p.due.Before(next) {
			next = p.due
		}
	}
	return next
}

// stale has the part of a source ranked again at the next choice.
func (a *Auto) stale(slot freshet.Slot) {
	for a.rank.Of(slot) >= len(a.parts) {
		a.parts = append(a.parts, part{reached: -1})
	}
	a.parts[a.rank.Of(slot)].reached = -1
}

// A lot is how many polls are chosen before what they find is waited for. Where the
// budget of one moment suffices for a good part of all sources, as in a crawl that
// downloads all its pages of a week in one go, the first few polls of a site tell
// what the others are worth. To choose all at once would be to choose blindly.
type lot struct {
	size  int   // polls, at most; 0 if there is no bound
	taken int   // of them, begun
	under int   // polls of it that are under way
	at    int64 // when it was chosen
	late  bool  // outcomes come at another moment, as in a daemon: they are not waited for
}

// Where at least so many polls, and such a part of all sources, can be polled at
// once, they are in so many lots.
const (
	leastBatch = 16
	batchPart  = 16 // sources of which one can be polled
	lots       = 32
)

// next reports whether sources are to be ranked again: at a new instant, or when a
// lot is used up and what it found is known.
func (l *lot) next(at int64, instant bool, n, sources int) bool {
	l.pass(at)
	switch {
	case instant:
		*l = lot{at: at, late: l.late}
		if n >= max(leastBatch, sources/batchPart) && !l.late {
			l.size = (n + lots - 1) / lots
		}
		return true
	case l.size > 0 && l.taken >= l.size && l.under == 0:
		l.taken = 0
		return true
	}
	return false
}

// most returns how many of n polls can be begun now.
func (l *lot) most(n int) int {
	if l.size == 0 {
		return n
	}
	return max(0, min(n, l.size-l.taken))
}

// take notes that a poll has begun, and land that one has ended.
func (l *lot) take() { l.taken, l.under = l.taken+1, l.under+1 }
func (l *lot) land(at int64) {
	l.pass(at)
	l.under = max(0, l.under-1)
}

// pass notes what time it is. If it goes by while polls are under way, there is no
// use in lots.
func (l *lot) pass(at int64) {
	if l.size > 0 && l.under > 0 && at != l.at {
		l.late, l.size = true, 0
	}
}

// stranger is by how much more at most a poll is worth in a lot that is one of the
// first at its site. By how much is drawn for each source: so the first lots are a
// sample of all sites of which nothing is known, and not the whole of one of them.
const stranger = 0.5

// shuffled returns a number from 0 to 1 for a slot, always the same, and in no order.
func shuffled(slot int) float64 {
	h := (uint64(slot) + 1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	return float64((h^h>>27)>>11) / (1 << 53)
}
