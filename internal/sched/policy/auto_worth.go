package policy

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/freshet"
)

// outOfTurn is what a poll is worth, whatever its source weighs and costs, if it
// comes before all others: that of a source that has never been seen, or of one
// that has waited so long that it would starve.
const outOfTurn = 1e9

// longestWait is how many times as long as if all were treated alike a source
// waits at most, however little it is worth next to others.
const longestWait = 100

// value works out what a poll of each source of some parts is worth at now.
func (a *Auto) value(now time.Time, from, to int) {
	a.told, a.given, a.beats = a.told[:0], a.given[:0], a.beats[:0]
	for i := from; i < to; i++ {
		a.expect(now, i)
	}
	a.stretchPledges()
	a.boundAges()
	a.scaleAims()
	if a.lot.size > 0 {
		a.learner.Strange(a.strange)
	}
	r := reading{
		now: now, least: a.learner.Least(), starves: longestWait * a.learner.Turn(),
		instants: float64(a.learner.Tick()) / float64(a.every),
		told:     a.told, given: a.given, beats: a.beats,
	}
	for i := from; i < to; i++ {
		a.price(&r, i)
	}
	a.level()
	if a.lap.gathers && to == len(a.parts) {
		a.gathered()
	}
	for i := from; i < to; i++ {
		first, last := a.rank.Bounds(i, len(a.worth))
		a.valueIndexes(first, last)
		a.keepYoung(first, last)
		a.keepPledges(first, last)
	}
}

// expect asks the learner what is expected of the sources of a part, and how they compare
// to all.
func (a *Auto) expect(now time.Time, i int) {
	p := &a.parts[i]
	from, to := a.rank.Bounds(i, len(a.worth))
	a.learner.Likely(now, freshet.Slot(from), a.wait[from:to], a.gaps[from:to], a.credit[from:to])
	a.hear(now, from, to)
	a.takeGiven(now, from, to)
	a.listen(now, from, to)
	a.weighPledges(p, from, to)
	a.weighOld(p, from, to)
	a.weighAims(p, from, to)
}

// level works out how often a source changes by what was last expected of all.
func (a *Auto) level() {
	changes, ticks := 0.0, 0.0
	for i := range a.parts {
		changes, ticks = changes+a.parts[i].changes, ticks+a.parts[i].ticks
	}
	if ticks > 0 {
		a.common = changes / ticks
	}
}

// A reading is how sources are gone through in the order of their slots, with what is
// said of some of them.
type reading struct {
	now      time.Time
	least    float64 // changes a tick that every source is taken to have
	starves  float64 // ticks after which a source would starve
	instants float64 // in a tick
	told     []tell
	given    []promise
	beats    []beat
}

// price works out what polls of the sources of a part are worth.
func (a *Auto) price(r *reading, i int) {
	p := &a.parts[i]
	p.changes, p.ticks = 0, 0
	from, to := a.rank.Bounds(i, len(a.worth))
	for slot := from; slot < to; slot++ {
		gap := a.gaps[slot]
		a.lifted[slot] = false
		idle := a.idle(slot, a.wait[slot], gap)
		var promised *promise
		if len(r.given) > 0 && int(r.given[0].slot) == slot {
			promised, r.given = &r.given[0], r.given[1:]
			a.credit[slot] = 1
			if promised.Holds {
				idle = a.quiet(a.wait[slot], gap)
			}
		}
		if a.aims[slot] != forCaptures { // what is really thought counts, and not what pays to find out
			a.credit[slot] = 1
		}
		a.wait[slot] = max(a.wait[slot]*a.credit[slot], r.least*gap)
		if gap > 0 {
			p.changes, p.ticks = p.changes+a.wait[slot], p.ticks+gap
		}
		if a.failed[slot] != 0 {
			a.failed[slot] = min(a.failed[slot], r.now.UnixNano()) // the clock may have been set back
			a.wait[slot], a.gaps[slot] = a.retry(r.now, slot, a.wait[slot], gap)
		}
		a.worth[slot] = a.of(slot, a.wait[slot], a.gaps[slot]*r.instants)
		waited := a.gaps[slot]
		if len(r.beats) > 0 && int(r.beats[0].slot) == slot {
			if a.failed[slot] == 0 && promised == nil { // or a source that is down would have every turn
				a.worth[slot] = a.keeps(&r.beats[0], r.instants)
			}
			r.beats = r.beats[1:]
		}
		if promised != nil && a.failed[slot] == 0 {
			a.worth[slot] = a.promised(slot, &promised.Promise, a.wait[slot], a.gaps[slot], r.instants)
		}
		a.known[slot] = false
		if len(r.told) > 0 && int(r.told[0].slot) == slot {
			a.believe(&r.told[0], r.instants)
			idle = idle && !a.known[slot]
			waited = r.told[0].gap
			r.told = r.told[1:]
		}
		a.bend(r, slot, idle, waited)
	}
}

// bend says what a poll of a source is worth that is worth so much by itself, and that
// has waited for so many ticks.
func (a *Auto) bend(r *reading, slot int, idle bool, waited float64) {
	if a.lot.size > 0 {
		a.worth[slot] *= 1 + stranger*a.strange[slot]*shuffled(slot)
	}
	if a.listed[slot] { // for the pages that it finds, and for what it says of others
		finds := a.learner.Finds(freshet.Slot(slot))
		a.worth[slot] *= finds
		waited *= max(finds, seldomRead)
	}
	if idle || a.had[slot] == a.reached {
		a.worth[slot] = 0
		return
	}
	if factor := a.rank.Factor(freshet.Slot(slot)); waited > r.starves && factor != 0 {
		a.worth[slot] += outOfTurn / factor
		a.wait[slot] = math.Inf(1)
	}
	if a.jitter > 0 {
		a.worth[slot] *= math.Exp(a.jitter * a.draw.NormFloat64())
	}
}

// What makes a poll of a source worth a request that has hardly changed by what is
// thought of it: a day has passed, or half the time that it has gone without a
// change on average. A learner that has seen next to nothing can be too sure. Some
// of that time is enough where ten minutes have passed, and a tenth of the chance:
// such a poll is no burden, and without it budget would go unused.
const (
	daily       = 24 * time.Hour
	halfTime    = 0.5
	seldom      = 10 * time.Minute
	seldomTime  = 0.05
	seldomLeast = 0.1
)

// idle reports whether a source that was seen so many ticks ago, and of which so
// many changes are expected since, is not worth a request.
func (a *Auto) idle(slot int, expected, gap float64) bool {
	length := gap * float64(a.learner.Tick())
	if expected >= a.least || length >= float64(daily) {
		return false
	}
	part := a.learner.Plainly(freshet.Slot(slot), gap)
	if length >= float64(seldom) && expected >= seldomLeast*a.least && part >= seldomTime {
		return false
	}
	return !(part >= halfTime)
}

// Rest returns for how long after a poll a source is not worth a request, by what is
// thought of it: as long as it is idle.
func (a *Auto) Rest(o freshet.Outlook) time.Duration {
	longest := daily.Seconds()
	if o.Rate.Mean > 0 {
		longest = min(longest, a.least/o.Rate.Mean)
	}
	quiet := o.Watched / (o.Happened + 1)
	longest = min(longest, halfTime*quiet)
	if o.Rate.Mean > 0 {
		longest = min(longest, max(seldom.Seconds(), seldomLeast*a.least/o.Rate.Mean, seldomTime*quiet))
	}
	return time.Duration(longest * float64(time.Second))
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
		factor := a.rank.Factor(freshet.Slot(slot))
		if factor == 0 {
			return 0
		}
		return outOfTurn/factor + 100 // of equals the one that weighs more
	}
	aim, index := a.aims[slot], 0.0
	if aim == forCaptures {
		index = a.values[a.kind[slot]].Index(expected, max(1, gap))
	} else {
		index = a.aimed(slot, expected, max(1, gap))
	}
	return a.scale[aim]*index + curious[aim]*a.usual.worth*expected
}

// explore is how much of what polls are worth goes by what they are expected to
// find alone, next to the index.
const explore = 0.5

// Curiosity is at how many times the changes that are expected of a source polled
// on average Auto polls any source, however little its index: when exploration
// alone is worth as much as both are to the others.
const Curiosity = (1 + explore) / explore

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
