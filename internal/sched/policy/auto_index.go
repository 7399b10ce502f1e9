package policy

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A tell is what indexes say of a source.
type tell struct {
	slot freshet.Slot
	gap  float64 // since it was last seen, in ticks
	learn.Hint
}

// hear asks what indexes say of the sources in [from, to).
func (a *Auto) hear(now time.Time, from, to int) {
	a.learner.Hear(now, freshet.Slot(from), a.wait[from:to], func(slot freshet.Slot, h *learn.Hint) {
		a.told = append(a.told, tell{slot, a.gaps[slot], *h})
		a.wait[slot], a.gaps[slot] = h.Expected, h.Ticks
	})
}

// Tidings are what readings of indexes are expected to bring, by the slots of the
// indexes; empty if that is nothing.
type tidings struct {
	worth   []float64
	changes []float64 // that it is expected to tell of
}

// add counts what a reading of an index in a slot, of so many, brings.
func (t *tidings) add(slot freshet.Slot, slots int, worth, changes float64) {
	if missing := slots - len(t.worth); missing > 0 {
		t.worth, t.changes = append(t.worth, make([]float64, missing)...), append(t.changes, make([]float64, missing)...)
	}
	t.worth[slot] += worth
	t.changes[slot] += changes
}

// gathered begins to gather tidings anew, and goes by those that were gathered.
func (a *Auto) gathered() {
	a.news, a.gather = a.gather, tidings{worth: a.news.worth[:0], changes: a.news.changes[:0]}
}

// What a poll is worth of a source that is known to have changed: as much as if so many
// changes were expected, and more for one that changes often, so that it comes before
// others of its kind.
const (
	asExpected = 3
	bySpeed    = 5 // for each change in the time in which all sources can be polled
)

// soon is how far a reading of an index is worth what it is expected to tell, although
// it could be told later as well.
const soon = 0.3

// seldomRead is how often an index that tells nothing comes out of turn, next to other
// sources.
const seldomRead = 0.1

// believe works out what a poll of a source is worth that an index speaks for, and
// what that makes a reading of the index worth.
//
// A reading tells of each page whether it has changed. Where it has, a poll of the page
// is sure to bring something, and that is more than polls bring otherwise; where it has
// not, no poll is wasted. For a page that would be polled now anyway, only the latter
// counts. Pages that change all the time, or so seldom that hardly any poll is made of
// them, make an index worth nothing.
func (a *Auto) believe(t *tell, instants float64) {
	slot := int(t.slot)
	value, factor := &a.values[a.kind[slot]], a.rank.Factor(t.slot)
	if t.Pending > 0 {
		a.known[slot] = a.failed[slot] == 0 // or a source that is down would have every turn
		if a.known[slot] {
			a.worth[slot] = a.pending(slot, &t.Hint, a.worth[slot], instants)
		}
		return
	}
	x := t.News * a.credit[slot]
	if !(x > 0) {
		return
	}
	chance := -math.Expm1(-x)
	brings := value.Urgency(0)
	ticks := max(1, a.gaps[slot]*instants)
	if !value.Replaced() {
		brings = max(brings, value.Gain(x, ticks)/chance)
	}
	more := factor*brings - a.margin.brings
	if !(more > 0) {
		return
	}
	index := chance - x*(1-chance) // what would be lost if it were told later
	anyway := max(0, factor*value.Gain(a.wait[slot], ticks)-a.margin.brings)
	if a.lap.gathers {
		a.gather.add(t.Index, len(a.worth), max(0, (index+soon*(chance-index))*more-anyway), x)
	}
}

// pending returns what a poll is worth of a source that an index says has changed, if it
// is worth so much otherwise.
func (a *Auto) pending(slot int, h *learn.Hint, otherwise, instants float64) float64 {
	worth, age := 0.0, h.Age*instants
	v, aim := &a.values[a.kind[slot]], a.aims[slot]
	if aim != forCaptures {
		worth = a.scale[aim] * staleIndex(aim, max(h.Rate/instants, tinyRate), age)
	} else if v.Counts(age) {
		worth = v.Urgency(age)
		if !v.Replaced() {
			worth *= max(1, h.Changes)
		}
		worth += explore * a.usual.worth * (asExpected + bySpeed*h.Rate*a.learner.Turn())
	}
	return (1-h.Pending)*otherwise + h.Pending*max(otherwise, worth)
}

// gain returns what a poll of a source is expected to capture.
func (a *Auto) gain(slot freshet.Slot) float64 {
	gap := a.gaps[slot] * float64(a.learner.Tick()) / float64(a.every)
	return a.rank.Factor(slot) * a.values[a.kind[slot]].Gain(a.wait[slot], max(1, gap))
}

// valueIndexes says what readings of the indexes in [from, to) are worth.
func (a *Auto) valueIndexes(from, to int) {
	for slot := from; slot < min(to, len(a.news.worth)); slot++ {
		worth := a.read(freshet.Slot(slot))
		if worth == 0 || a.had[slot] == a.reached || a.idle(slot, a.news.changes[slot], a.gaps[slot]) {
			continue
		}
		if a.jitter > 0 {
			worth *= math.Exp(a.jitter * a.draw.NormFloat64())
		}
		a.worth[slot] += worth
		a.known[slot] = true
	}
}

// read returns what a reading of an index is worth, by what was last heard.
func (a *Auto) read(slot freshet.Slot) float64 {
	factor := a.rank.Factor(slot)
	if int(slot) >= len(a.news.worth) || factor == 0 || !(a.margin.brings > 0) {
		return 0
	}
	worth := a.news.worth[slot] * a.margin.price / a.margin.brings / factor // in the unit of the other polls
	if a.failed[slot] != 0 {
		worth *= min(1, a.gaps[slot]/a.learner.Turn()) // a poll that failed was its turn
	}
	return worth
}
