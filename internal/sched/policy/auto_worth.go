package policy

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
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
	a.told, a.given, a.rhythms = a.told[:0], a.given[:0], a.rhythms[:0]
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
		told:     a.told, given: a.given, rhythms: a.rhythms,
	}
	for i := from; i < to; i++ {
		a.price(&r, i)
	}
	a.level()
	if a.fullPass.gathers && to == len(a.parts) {
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
	a.gatherOverrides(now, from, to)
	a.gatherRhythms(now, from, to)
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
	rhythms  []minuteRhythm
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
		var override *promise
		if len(r.given) > 0 && int(r.given[0].slot) == slot {
			override, r.given = &r.given[0], r.given[1:]
			a.credit[slot] = 1
			if override.Holds {
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
		if len(r.rhythms) > 0 && int(r.rhythms[0].slot) == slot {
			if a.failed[slot] == 0 && override == nil { // or a source that is down would have every turn
				a.worth[slot] = a.rhythmWorth(&r.rhythms[0], r.instants)
			}
			r.rhythms = r.rhythms[1:]
		}
		if override != nil && a.failed[slot] == 0 {
			a.worth[slot] = a.overrideWorth(slot, &override.Promise, a.wait[slot], a.gaps[slot], r.instants)
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

// Price returns what a poll has been worth of late at the margin of the budget:
// the least that was polled for. It is 0 while that is not known.
func (a *Auto) Price() float64 { return a.margin.price }

// A margin finds the price at which the budget is just spent.
type margin struct {
	least float64 // polled for since the last ranking
	any   bool
	price float64

	gain   float64 // that was expected of that poll
	brings float64 // what the polls at the price have been expected to capture
}

// sold notes the worth of a poll that was made.
func (m *margin) sold(worth, gain float64) {
	if !m.any || worth < m.least {
		m.least, m.gain, m.any = worth, gain, true
	}
}

// close ends a ranking.
func (m *margin) close() {
	const grip = 0.9 // that the price has on itself
	switch {
	case !m.any:
		return
	case m.price == 0:
		m.price, m.brings = m.least, m.gain
	default:
		m.brings = grip*m.brings + (1-grip)*m.gain
		m.price = grip*m.price + (1-grip)*m.least
	}
	m.any = false
}

// An oldest is a bound on how old copies grow where polls are for captures. A source that
// hardly ever changes brings few of them, and can be left alone for very long; when it
// does change, nobody hears of it for as long. From the moment at which a copy is to be
// expected so many times as old as copies are on average where all take turns, a poll of
// it is worth what the budget asks of any poll, and the more the older it is.
//
// Such polls may take a share of the budget and no more: where they need more, all copies
// may grow older alike.
type oldest struct {
	times   float64   // as old as by turns; 0 if there is no bound
	ages    []float64 // by slot: how old the copy is to be expected, in ticks, times its weight; scratch
	lifts   []bool    // by slot: it is worth what it is for its age
	may     float64   // how old a copy may be, in ticks; 0 while that is not known
	stretch float64   // of what is allowed, so that the share is kept
	made    float64   // polls for that
	polls   float64   // all of them, since the stretch was last looked at
}

// Oldest is how many times as old as by turns copies may grow, if nobody says otherwise,
// and OldestShare how much of the budget may go to keep them so. Tried on recorded
// histories, that costs 0.0015 of the changes, and makes copies 39% younger.
const (
	Oldest      = 20
	OldestShare = 0.02
)

// The stretch is looked at after so many polls, and moved by so much.
const (
	oldLooks = 64
	oldStep  = 1.1
)

// grow makes room for a slot.
func (o *oldest) grow() { o.ages, o.lifts = append(o.ages, 0), append(o.lifts, false) }

// took notes a poll that was made.
func (o *oldest) took(slot freshet.Slot) {
	o.polls++
	if o.lifts[slot] {
		o.made++
	}
	if o.polls < oldLooks {
		return
	}
	if o.made > OldestShare*o.polls {
		o.stretch *= oldStep
	} else {
		o.stretch = max(1, o.stretch/oldStep)
	}
	o.made, o.polls = 0, 0
}

// weighOld works out how old the copies of the sources of a part are to be expected,
// before anything else bends what is expected of them.
func (a *Auto) weighOld(of *part, from, to int) {
	o := &a.old
	clear(o.lifts[from:to])
	if of.ages, of.aged = 0, 0; o.times == 0 || a.aiming[forCaptures] == 0 {
		return
	}
	turn := a.learner.Turn()
	for slot := from; slot < to; slot++ {
		gap := a.gaps[slot]
		o.ages[slot] = 0
		factor := a.rank.Factor(freshet.Slot(slot))
		if gap <= 0 || factor == 0 || a.aims[slot] != forCaptures || math.IsInf(a.wait[slot], 1) {
			continue
		}
		rate := a.wait[slot] / gap
		o.ages[slot] = factor * expectedAge(rate, gap)
		of.ages += factor * meanAge(rate, turn)
		of.aged++
	}
}

// boundAges says how old copies may be.
func (a *Auto) boundAges() {
	o := &a.old
	if o.may = 0; o.times == 0 || a.aiming[forCaptures] == 0 {
		return
	}
	o.stretch = max(o.stretch, 1)
	sum, count := 0.0, 0.0
	for i := range a.parts {
		sum, count = sum+a.parts[i].ages, count+a.parts[i].aged
	}
	if count == 0 || sum == 0 {
		return
	}
	o.may = o.times * o.stretch * sum / count
}

// young returns what a poll of a source is worth at least whose copy is to be expected of
// an age, for its weight.
func (a *Auto) young(age float64) float64 {
	if a.old.may == 0 || a.margin.price == 0 || age < a.old.may { // without a price no poll is known to be dear
		return 0
	}
	over := age / a.old.may
	return a.margin.price * over * over
}

// keepYoung raises what polls are worth of the sources in [from, to) whose copies are too
// old.
func (a *Auto) keepYoung(from, to int) {
	if a.old.may == 0 {
		return
	}
	for slot := from; slot < to; slot++ {
		age := a.old.ages[slot]
		if a.worth[slot] == 0 || a.failed[slot] != 0 { // it is not to be polled now, or would have every turn
			continue
		}
		if floor := a.young(age) / a.rank.Factor(freshet.Slot(slot)); floor > a.worth[slot] {
			a.worth[slot], a.lifted[slot], a.old.lifts[slot] = floor, true, true
		}
	}
}

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

// gathered begins to gather tidings again, and goes by those that were gathered.
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
	if a.fullPass.gathers {
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

// A promise is what the chances that somebody gave say of a source.
type promise struct {
	slot freshet.Slot
	learn.Promise
}

// gatherOverrides asks of which of the sources in [from, to) somebody gave chances, and takes
// what these say for what is expected.
func (a *Auto) gatherOverrides(now time.Time, from, to int) {
	a.learner.Promises(now, freshet.Slot(from), a.wait[from:to], func(slot freshet.Slot, p *learn.Promise) {
		a.given = append(a.given, promise{slot, *p})
		a.wait[slot] = p.Expected
	})
}

// overrideWorth returns what a poll is worth of a source of which chances were given. Where
// changes are no likelier in the coming minutes than they have been on the whole since it
// was last seen, that is as with any source. Where a change was expected and nothing else
// is, waiting brings nothing: a poll is worth all that it is expected to capture.
func (a *Auto) overrideWorth(slot int, p *learn.Promise, expected, gap, instants float64) float64 {
	plain := a.of(slot, expected, gap*instants)
	if a.aims[slot] != forCaptures || !p.Holds {
		return plain * ready(p)
	}
	const little = 0.01
	v, x, age := &a.values[a.kind[slot]], p.Expected, max(1, gap*instants)
	if !v.Replaced() {
		x = p.Count
	}
	gain := v.Gain(x, age)
	slope := (v.Gain(x+little, age) - gain) / little
	index := gain - p.Growth*gap*slope
	return max(plain, a.scale[forCaptures]*index+curious[forCaptures]*a.usual.worth*x) * ready(p)
}

// ready returns how much of its worth a poll has now: less of it, if what was given of
// its source is about to come.
func ready(p *learn.Promise) float64 {
	if chance := -math.Expm1(-p.Expected); p.Later > chance {
		return chance / p.Later
	}
	return 1
}

// quiet reports whether a source that was seen so many ticks ago is not worth a request
// where given chances alone say how many changes are expected since. Whoever gave them
// may be wrong: once a day it is looked at.
func (a *Auto) quiet(expected, gap float64) bool {
	return expected < a.least && gap*float64(a.learner.Tick()) < float64(daily)
}

// A minuteRhythm is a source that keeps to certain minutes of the hour.
type minuteRhythm struct {
	slot freshet.Slot
	learn.Rhythm
}

// gatherRhythms asks which of the sources in [from, to) keep to certain minutes.
func (a *Auto) gatherRhythms(now time.Time, from, to int) {
	a.learner.Rhythms(now, freshet.Slot(from), a.wait[from:to], func(slot freshet.Slot, r *learn.Rhythm) {
		a.rhythms = append(a.rhythms, minuteRhythm{slot, *r})
	})
}

// rhythmWorth returns what a poll is worth of a source that keeps to certain minutes. What is
// there is worth more if it is about to be replaced, and a poll just before a change is
// due is worth less than one just after.
func (a *Auto) rhythmWorth(b *minuteRhythm, instants float64) float64 {
	x := -math.Log1p(-min(surest, b.Chance)) * a.credit[b.slot]
	worth := a.of(int(b.slot), x, a.gaps[b.slot]*instants) * b.Haste
	if b.Later > b.Chance {
		worth *= b.Chance / b.Later
	}
	return worth
}

// surest is how sure it is at most that a source has changed.
const surest = 0.999
