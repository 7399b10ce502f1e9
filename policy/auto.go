package policy

import (
	"cmp"
	"math"
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
// There is no exploration apart from that. What is expected of a source of which
// little is known grows with the time since it was seen, by the mean of all that
// its rate could be, and the rates that would make a poll worthwhile weigh in
// that mean by their size. Pages of a large site that nobody has seen are like
// the others of it: the first few that are polled are a sample, and if they have
// changed, the others are worth more at once. As a page's own outcomes come in,
// they take the place of the sample.
//
// Make one with NewAuto.
type Auto struct {
	learner *learn.Learner
	grid    instants
	reached int64         // the instant for which sources are ranked
	every   time.Duration // between two rankings

	values []Value
	kinds  map[gainKey]int32
	kind   []int32   // by slot: which of values
	worth  []float64 // by slot
	gaps   []float64 // scratch
	rank   ranking
	margin margin
}

// An AutoConfig says how Auto sees time. The zero AutoConfig works.
type AutoConfig struct {
	Start   time.Time     // of the first instant; zero means when the first source is put
	Instant time.Duration // by which lives and urgencies count; zero means a minute
	Tick    time.Duration // by which is learnt and decided; zero means an instant
	Polls   float64       // budget an instant, until it shows; zero means one
}

// NewAuto returns an Auto that has learnt nothing.
func NewAuto(c AutoConfig) *Auto {
	c.Instant = cmp.Or(c.Instant, time.Minute)
	c.Tick = cmp.Or(c.Tick, c.Instant)
	return &Auto{
		learner: learn.New(learn.Config{Start: c.Start, Tick: c.Tick, Polls: c.Polls * float64(c.Tick) / float64(c.Instant)}),
		grid:    newInstants(c.Start, c.Tick),
		every:   c.Instant,
		kinds:   map[gainKey]int32{},
		reached: -1,
	}
}

// Learner returns what Auto learns with.
func (a *Auto) Learner() *learn.Learner { return a.learner }

// Put implements [freshet.Policy].
func (a *Auto) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	a.grid.begin(now)
	a.learner.Put(now, slot, s, since)
	for int(slot) >= len(a.kind) {
		a.kind, a.worth, a.gaps = append(a.kind, 0), append(a.worth, 0), append(a.gaps, 0)
	}
	key := gainKeyOf(s.Life, s.Urgency)
	kind, ok := a.kinds[key]
	if !ok {
		kind = int32(len(a.values))
		a.kinds[key] = kind
		a.values = append(a.values, NewValue(ValueConfig{Life: s.Life, Urgency: s.Urgency}))
	}
	a.kind[slot] = kind
	a.rank.put(slot, s)
	a.reached = -1
}

// Remove implements [freshet.Policy].
func (a *Auto) Remove(slot freshet.Slot) {
	a.learner.Remove(slot)
	a.rank.remove(slot)
}

// Observe implements [freshet.Policy].
func (a *Auto) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	a.learner.Observe(slot, o)
	a.rank.land(slot)
	if int(slot) < len(a.worth) {
		a.worth[slot] = 0 // it has had its turn at this instant
	}
}

// Choose implements [freshet.Policy].
func (a *Auto) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	a.grid.begin(now)
	if at := a.grid.at(now); at != a.reached {
		a.reached = at
		a.value(now)
		a.rank.begin(n)
		a.rank.scan(a.worth, 0, len(a.worth))
		a.rank.end()
	}
	a.rank.offer(a.worth, n, func(slot freshet.Slot, worth float64) bool {
		took := take(slot, worth)
		if took {
			a.margin.sold(worth)
		}
		return took
	})
	return a.grid.time(a.reached + 1)
}

// firstLook is the worth of a source that has never been seen: more than that
// of any that has.
const firstLook = 1e9

// value works out what a poll of each source is worth at now.
func (a *Auto) value(now time.Time) {
	a.margin.close()
	a.learner.Expected(now, a.worth, a.gaps)
	instants := float64(a.grid.length) / float64(a.every)
	for slot, expected := range a.worth {
		switch {
		case expected == 0:
		case math.IsInf(expected, 1):
			a.worth[slot] = firstLook
		default:
			a.worth[slot] = a.values[a.kind[slot]].Index(expected, max(1, a.gaps[slot]*instants))
		}
	}
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
	if out.Since.IsZero() {
		out.Worth, out.Due = firstLook*factor, now
		return out
	}
	v := a.values[a.kind[slot]]
	worthAt := func(d time.Duration) float64 { // d from now, at the rate of now
		gap := now.Add(d).Sub(out.Since)
		if gap <= 0 {
			return 0
		}
		return factor * v.Index(out.Expected+out.Rate.Mean*d.Seconds(), max(1, float64(gap)/float64(a.every)))
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
	if worth < firstLook && (!m.any || worth < m.least) {
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
