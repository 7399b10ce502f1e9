package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"freshet"
	"freshet/learn"
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
// of the sample.
//
// Make one with NewAuto.
type Auto struct {
	learner *learn.Learner
	polls   float64 // budget an instant, where the tick is to be found; otherwise 0
	sources int
	grid    instants
	reached int64         // the instant for which sources are ranked
	every   time.Duration // between two rankings

	values []Value
	kinds  map[gainKey]int32
	kind   []int32   // by slot: which of values
	worth  []float64 // by slot
	gaps   []float64 // scratch: since each was last seen, in ticks
	wait   []float64 // by slot: changes expected since then
	failed []int64   // by slot: when its last poll failed, in nanoseconds since 1970; 0 if it did not
	common float64   // changes a tick of a source, by what was last expected of all
	usual  usual
	rank   ranking
	margin margin
	jitter float64
	draw   *rand.Rand
}

// An AutoConfig says how Auto sees time. The zero AutoConfig works.
type AutoConfig struct {
	Start   time.Time     // of the first instant; zero means when the first source is put
	Instant time.Duration // by which lives and urgencies count; zero means a minute
	Tick    time.Duration // by which is learnt and decided; zero means an instant, and longer ones for learning where sources are many for the budget
	Polls   float64       // budget an instant, until it shows; zero means one

	// Jitter blurs what polls are worth by this share, by chance: runs that
	// differ in the seed alone then show what is luck in a result.
	Jitter float64
	Seed   uint64
}

// NewAuto returns an Auto that has learnt nothing.
func NewAuto(c AutoConfig) *Auto {
	c.Instant = cmp.Or(c.Instant, time.Minute)
	polls := 0.0
	if c.Tick == 0 {
		c.Tick, polls = c.Instant, c.Polls
	}
	return &Auto{
		polls:   polls,
		learner: learn.New(learn.Config{Start: c.Start, Tick: c.Tick, Polls: c.Polls * float64(c.Tick) / float64(c.Instant)}),
		grid:    newInstants(c.Start, c.Tick),
		every:   c.Instant,
		kinds:   map[gainKey]int32{},
		reached: -1,
		jitter:  c.Jitter,
		draw:    rand.New(rand.NewPCG(c.Seed, 1)),
	}
}

// Learner returns what Auto learns with.
func (a *Auto) Learner() *learn.Learner { return a.learner }

// Put implements [freshet.Policy].
func (a *Auto) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	a.grid.begin(now)
	a.learner.Put(now, slot, s, since)
	for int(slot) >= len(a.kind) {
		a.kind, a.worth = append(a.kind, 0), append(a.worth, 0)
		a.gaps, a.wait = append(a.gaps, 0), append(a.wait, 0)
		a.failed = append(a.failed, 0)
	}
	key := gainKeyOf(s.Life, s.Urgency)
	kind, ok := a.kinds[key]
	if !ok {
		kind = int32(len(a.values))
		a.kinds[key] = kind
		a.values = append(a.values, NewValue(ValueConfig{Life: s.Life, Urgency: s.Urgency}))
	}
	a.kind[slot] = kind
	if a.rank.put(slot, s) {
		a.sources++
	}
	a.reached = -1
}

// Remove implements [freshet.Policy].
func (a *Auto) Remove(slot freshet.Slot) {
	a.learner.Remove(slot)
	a.rank.remove(slot)
	if int(slot) < len(a.failed) {
		a.failed[slot] = 0
	}
}

// turnTicks is at most how many ticks a learner that finds its own goes through
// while all sources are polled once: about as many as it looks back.
const turnTicks = 384

// settle finds how long a tick has to be, before anything is learnt.
func (a *Auto) settle() {
	if a.polls == 0 {
		return
	}
	times := 1
	for float64(a.sources)/a.polls > turnTicks*float64(times) {
		times *= 2
	}
	a.learner.SetTick(time.Duration(times)*a.every, a.polls*float64(times))
	a.polls = 0
}

// Observe implements [freshet.Policy].
func (a *Auto) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	a.settle()
	a.learner.Observe(slot, o)
	a.rank.land(slot)
	if int(slot) < len(a.worth) {
		a.worth[slot] = 0 // it has had its turn at this instant
		a.failed[slot] = 0
		if !o.Result.Seen() {
			a.failed[slot] = o.Ended.UnixNano()
		}
	}
}

// Choose implements [freshet.Policy].
func (a *Auto) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	a.grid.begin(now)
	if behind := a.grid.start.Sub(now); behind > 0 { // the clock was ahead when the count began
		a.grid.start = a.grid.start.Add(-behind.Truncate(a.grid.length) - a.grid.length)
		a.reached = -1
	}
	if at := a.grid.at(now); at != a.reached {
		a.reached = at
		a.value(now)
		a.rank.begin(n)
		a.rank.scan(a.worth, 0, len(a.worth))
		a.rank.end()
	}
	a.rank.offer(a.worth, n, func(slot freshet.Slot, worth float64) bool {
		if !take(slot, worth) {
			return false
		}
		if expected := a.wait[slot]; !math.IsInf(expected, 1) { // out of turn, it says nothing of what others are worth
			a.margin.sold(worth)
			a.usual.add(worth/a.rank.factor[slot], expected)
		}
		return true
	})
	return a.grid.time(a.reached + 1)
}

// outOfTurn is what a poll is worth, whatever its source weighs and costs, if it
// comes before all others: that of a source that has never been seen, or of one
// that has waited so long that it would starve.
const outOfTurn = 1e9

// longestWait is how many times as long as if all were treated alike a source
// waits at most, however little it is worth next to others.
const longestWait = 100

// value works out what a poll of each source is worth at now.
func (a *Auto) value(now time.Time) {
	a.settle()
	a.margin.close()
	a.learner.Expected(now, a.wait, a.gaps)
	instants := float64(a.learner.Tick()) / float64(a.every)
	starves := longestWait * a.learner.Turn()
	changes, ticks := 0.0, 0.0
	for slot, gap := range a.gaps {
		if gap > 0 {
			changes, ticks = changes+a.wait[slot], ticks+gap
		}
		if a.failed[slot] != 0 {
			a.failed[slot] = min(a.failed[slot], now.UnixNano()) // the clock may have been set back
			a.wait[slot], a.gaps[slot] = a.retry(now, slot, a.wait[slot], gap)
		}
		a.worth[slot] = a.of(slot, a.wait[slot], a.gaps[slot]*instants)
		if a.gaps[slot] > starves && a.rank.factor[slot] != 0 {
			a.worth[slot] += outOfTurn / math.Abs(a.rank.factor[slot])
			a.wait[slot] = math.Inf(1)
		}
		if a.jitter > 0 {
			a.worth[slot] *= math.Exp(a.jitter * a.draw.NormFloat64())
		}
	}
	if ticks > 0 {
		a.common = changes / ticks
	}
}

// retry returns what counts of what is expected of a source, and of the ticks
// since it was seen, when its last poll failed: only what came after that. A poll
// that failed was its turn, or sources that are down would have every turn. One
// that has never been seen is taken to be like all.
func (a *Auto) retry(now time.Time, slot int, expected, gap float64) (float64, float64) {
	since := float64(max(0, now.UnixNano()-a.failed[slot])) / float64(a.learner.Tick())
	if math.IsInf(expected, 1) {
		return since * cmp.Or(a.common, 1), since
	}
	if since >= gap {
		return expected, gap
	}
	return expected * since / gap, since
}

// of returns what a poll of a source is worth for its weight and cost, when so
// many changes are expected of it after so many instants.
func (a *Auto) of(slot int, expected, gap float64) float64 {
	switch {
	case expected == 0:
		return 0
	case math.IsInf(expected, 1):
		factor := math.Abs(a.rank.factor[slot])
		if factor == 0 {
			return 0
		}
		return outOfTurn/factor + 100 // of equals the one that weighs more
	}
	return a.values[a.kind[slot]].Index(expected, max(1, gap)) + explore*a.usual.worth*expected
}

// explore is how much of what polls are worth goes by what they are expected to
// find alone, next to the index.
const explore = 0.5

// usual is what an expected change has been worth of late.
type usual struct {
	worth float64
}

// add takes in a poll that was made.
func (u *usual) add(worth, expected float64) {
	const grip = 0.98
	if !(expected > 0) {
		return
	}
	// Of this worth some is for exploration, and does not count.
	each := max(0, worth/expected-explore*u.worth)
	if u.worth == 0 {
		u.worth = each
	}
	u.worth = grip*u.worth + (1-grip)*each
}

// Price returns what a poll has been worth of late at the margin of the budget:
// the least that was polled for. It is 0 while that is not known.
func (a *Auto) Price() float64 { return a.margin.price }

// Outlook returns what is thought of a source at now, and when it is expected to
// be polled.
func (a *Auto) Outlook(now time.Time, slot freshet.Slot) freshet.Outlook {
	out := a.learner.Outlook(now, slot)
	out.Price = a.margin.price
	if int(slot) >= len(a.kind) || int(slot) >= len(a.rank.factor) {
		return out
	}
	factor := math.Abs(a.rank.factor[slot])
	if out.Since.IsZero() && a.failed[slot] == 0 {
		out.Worth, out.Due = factor*a.of(int(slot), math.Inf(1), 0), now
		return out
	}
	worthAt := func(d time.Duration) float64 { // d from now, at the rate of now
		expected, gap := math.Inf(1), 0.0
		if !out.Since.IsZero() {
			expected = out.Expected + out.Rate.Mean*d.Seconds()
			gap = float64(now.Add(d).Sub(out.Since)) / float64(a.learner.Tick())
		}
		if a.failed[slot] != 0 {
			expected, gap = a.retry(now.Add(d), int(slot), expected, gap)
		}
		if gap <= 0 {
			return 0
		}
		return factor * a.of(int(slot), expected, gap*float64(a.learner.Tick())/float64(a.every))
	}
	out.Worth = worthAt(0)
	if out.Price > 0 && factor > 0 {
		out.Due = dueAt(now, a.grid.length, func(d time.Duration) bool { return worthAt(d) >= out.Price })
	}
	return out
}

// dueAt returns the first moment from now on, to the tick, at which something is
// reached; zero if not within a year.
func dueAt(now time.Time, tick time.Duration, reached func(time.Duration) bool) time.Time {
	if reached(0) {
		return now
	}
	const year = 366 * 24 * time.Hour
	low, high := time.Duration(0), tick
	for !reached(high) {
		low, high = high, 2*high
		if high > year {
			return time.Time{}
		}
	}
	for high-low > tick {
		if mid := (low + high) / 2; reached(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return now.Add(high)
}

// A margin finds the price at which the budget is just spent.
type margin struct {
	least float64 // polled for since the last ranking
	any   bool
	price float64
}

// sold notes the worth of a poll that was made.
func (m *margin) sold(worth float64) {
	if !m.any || worth < m.least {
		m.least, m.any = worth, true
	}
}

// close ends a ranking.
func (m *margin) close() {
	const grip = 0.9 // that the price has on itself
	switch {
	case !m.any:
		return
	case m.price == 0:
		m.price = m.least
	default:
		m.price = grip*m.price + (1-grip)*m.least
	}
	m.any = false
}

// gainKeyOf tells pairs of life and urgency apart.
func gainKeyOf(life freshet.Life, u freshet.Urgency) gainKey {
	key := gainKey{life: life, kind: u.Kind, a: u.A, k: u.K}
	if u.Kind == freshet.UrgencyTable {
		key.table = u.String()
	}
	return key
}
