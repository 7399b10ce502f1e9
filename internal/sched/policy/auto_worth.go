package policy

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

// outOfTurn is the worth of a poll that comes before all others, whatever its source weighs
// and costs: that of a source that has never been seen, or that would starve.
const outOfTurn = 1e9

// longestWait is the longest wait of a source in full passes, however little it is worth next
// to others.
const longestWait = 100

// value works out what polls of the sources of the parts [from, to) are worth at now.
func (a *Auto) value(now time.Time, from, to int) {
	a.said.clear()
	for i := from; i < to; i++ {
		a.expect(now, i)
	}
	a.levels.bound(a.passes.parts)
	a.old.bound(a.passes.parts, a.objectives.count[forCaptures] > 0)
	a.objectives.rescale(a.passes.parts)
	if a.batch.size > 0 {
		a.learner.Novelty(a.novel)
	}
	r := reading{
		now: now, least: a.learner.Least(), starves: longestWait * a.learner.FullPass(),
		steps: float64(a.learner.Tick()) / float64(a.step), evidence: a.said,
	}
	for i := from; i < to; i++ {
		a.price(&r, i)
	}
	a.prices.level(a.passes.parts)
	if a.passes.full.gathers && to == len(a.passes.parts) {
		a.indexes.swap()
	}
	for i := from; i < to; i++ {
		first, last := a.rank.Bounds(i, len(a.worth))
		a.valueIndexes(first, last)
		a.keepYoung(first, last)
		a.keepLevels(first, last)
	}
}

// expect asks the learner what to expect of the sources of a part, and sums up what all parts
// are compared by.
func (a *Auto) expect(now time.Time, i int) {
	p := &a.passes.parts[i]
	from, to := a.rank.Bounds(i, len(a.worth))
	first, wait := freshet.Slot(from), a.wait[from:to]
	a.learner.Likely(now, first, wait, a.gaps[from:to], a.credit[from:to])
	a.learner.Hints(now, first, wait, func(slot freshet.Slot, h *learn.Hint) {
		a.said.hints = append(a.said.hints, hinted{slot, a.gaps[slot], *h})
		a.wait[slot], a.gaps[slot] = h.Expected, h.Ticks
	})
	a.learner.Overrides(now, first, wait, func(slot freshet.Slot, p *learn.Override) {
		a.said.overrides = append(a.said.overrides, override{slot, *p})
		a.wait[slot] = p.Expected
	})
	a.learner.Rhythms(now, first, wait, func(slot freshet.Slot, r *learn.Rhythm) {
		a.said.rhythms = append(a.said.rhythms, minuteRhythm{slot, *r})
	})
	a.weighLevels(p, from, to)
	a.weighAges(p, from, to)
	a.weighObjectives(p, from, to)
}

// Evidence is what is known of some sources beside their own history, each list in the
// order of the slots.
type evidence struct {
	hints     []hinted       // by indexes
	overrides []override     // of the forecast
	rhythms   []minuteRhythm // of sources that keep to certain minutes
}

// clear forgets all.
func (e *evidence) clear() {
	e.hints, e.overrides, e.rhythms = e.hints[:0], e.overrides[:0], e.rhythms[:0]
}

// A hinted source is one that an index says something of.
type hinted struct {
	slot freshet.Slot
	gap  float64 // since it was last seen, in ticks
	learn.Hint
}

// An override is what the forecast override of a source says.
type override struct {
	slot freshet.Slot
	learn.Override
}

// A minuteRhythm is a source that keeps to certain minutes of the hour.
type minuteRhythm struct {
	slot freshet.Slot
	learn.Rhythm
}

// A reading goes through sources in the order of their slots, and consumes the evidence
// on them.
type reading struct {
	now     time.Time
	least   float64 // changes a tick that every source is taken to have
	starves float64 // ticks after which a source would starve
	steps   float64 // in a tick
	evidence
}

// price works out what polls of the sources of a part are worth.
func (a *Auto) price(r *reading, i int) {
	p := &a.passes.parts[i]
	p.changes, p.ticks = 0, 0
	from, to := a.rank.Bounds(i, len(a.worth))
	for slot := from; slot < to; slot++ {
		gap := a.gaps[slot]
		a.lifted[slot] = false
		idle := a.idle(slot, a.wait[slot], gap)
		var over *override
		if len(r.overrides) > 0 && int(r.overrides[0].slot) == slot {
			over, r.overrides = &r.overrides[0], r.overrides[1:]
			a.credit[slot] = 1
			if over.Holds {
				idle = a.quiet(a.wait[slot], gap)
			}
		}
		if a.objectives.of[slot] != forCaptures { // what is really thought counts, and not what pays to find out
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
		a.worth[slot] = a.of(slot, a.wait[slot], a.gaps[slot]*r.steps)
		waited := a.gaps[slot]
		if len(r.rhythms) > 0 && int(r.rhythms[0].slot) == slot {
			if a.failed[slot] == 0 && over == nil { // or a source that is down would have every turn
				a.worth[slot] = a.rhythmWorth(&r.rhythms[0], r.steps)
			}
			r.rhythms = r.rhythms[1:]
		}
		if over != nil && a.failed[slot] == 0 {
			a.worth[slot] = a.overrideWorth(slot, &over.Override, a.wait[slot], a.gaps[slot], r.steps)
		}
		a.known[slot] = false
		if len(r.hints) > 0 && int(r.hints[0].slot) == slot {
			a.weighHint(&r.hints[0], r.steps)
			idle = idle && !a.known[slot]
			waited = r.hints[0].gap
			r.hints = r.hints[1:]
		}
		a.bend(r, slot, idle, waited)
	}
}

// bend adjusts the worth of a poll to what else is known of its source, which has waited for
// so many ticks.
func (a *Auto) bend(r *reading, slot int, idle bool, waited float64) {
	if a.batch.size > 0 {
		a.worth[slot] *= 1 + novelty*a.novel[slot]*shuffled(slot)
	}
	if a.index[slot] { // for the pages that it finds, and for what it says of others
		finds := a.learner.Finds(freshet.Slot(slot))
		a.worth[slot] *= finds
		waited *= max(finds, rarelyRead)
	}
	if idle || a.had[slot] == a.passes.reached {
		a.worth[slot] = 0
		return
	}
	if factor := a.rank.Factor(freshet.Slot(slot)); waited > r.starves && factor != 0 {
		a.worth[slot] += outOfTurn / factor
		a.wait[slot] = math.Inf(1)
	}
	a.worth[slot] = a.jitter.blur(a.worth[slot])
}

// What makes an unlikely change worth a request: a day has passed, or half the mean time
// between changes, because a learner that has seen next to nothing can be too sure. After
// ten minutes, a twentieth of that time and a tenth of the required probability are enough:
// such a poll is no burden, and without it budget would go unused.
const (
	daily     = 24 * time.Hour
	halfTime  = 0.5
	rare      = 10 * time.Minute
	rareTime  = 0.05
	rareLeast = 0.1
)

// idle reports whether a source that was seen gap ticks ago, and is expected to have so many
// changes since, is not worth a request.
func (a *Auto) idle(slot int, expected, gap float64) bool {
	length := gap * float64(a.learner.Tick())
	if expected >= a.least || length >= float64(daily) {
		return false
	}
	part := a.learner.Plainly(freshet.Slot(slot), gap)
	if length >= float64(rare) && expected >= rareLeast*a.least && part >= rareTime {
		return false
	}
	return !(part >= halfTime)
}

// Rest returns how long a source is idle after a poll.
func (a *Auto) Rest(o outlook.Outlook) time.Duration {
	longest := daily.Seconds()
	if o.Now.Mean > 0 {
		longest = min(longest, a.least/o.Now.Mean)
	}
	quiet := o.Watched / (o.Happened + 1)
	longest = min(longest, halfTime*quiet)
	if o.Now.Mean > 0 {
		longest = min(longest, max(rare.Seconds(), rareLeast*a.least/o.Now.Mean, rareTime*quiet))
	}
	return time.Duration(longest * float64(time.Second))
}

// retry returns the expected changes of a source, and the ticks since it was seen, that count
// when its last poll failed: those since that poll, or sources that are down would come first
// every time. One that has never been seen is taken to be like all.
func (a *Auto) retry(now time.Time, slot int, expected, gap float64) (float64, float64) {
	since := float64(max(0, now.UnixNano()-a.failed[slot])) / float64(a.learner.Tick())
	if math.IsInf(expected, 1) {
		return since * cmp.Or(a.prices.common, 1), since
	}
	if since >= gap {
		return expected, gap
	}
	return expected * since / gap, since
}

// of returns what a poll of a source is worth for its weight and cost, when so
// many changes are expected of it after so many steps.
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
	aim, index := a.objectives.of[slot], 0.0
	if aim == forCaptures {
		index = a.values.of(slot).Index(expected, max(1, gap))
	} else {
		index = a.aimed(slot, expected, max(1, gap))
	}
	return a.objectives.scale[aim]*index + curious[aim]*a.prices.change*expected
}

// explore is how much of what polls are worth goes by what they are expected to
// find alone, next to the index.
const explore = 0.5

// Curiosity is at how many times the changes that are expected of a source polled
// on average Auto polls any source, however little its index: when exploration
// alone is worth as much as both are to the others.
const Curiosity = (1 + explore) / explore

// Prices are what polls have been worth of late. At the price the budget is just spent.
type prices struct {
	price  float64 // of the polls that were just worth making; 0 while that is not known
	brings float64 // what the polls at the price have been expected to capture
	change float64 // what an expected change has been worth
	common float64 // changes a tick of a source, by what was last expected of all

	// The poll of least worth since the last ranking, if there was any.
	least, gain float64
	any         bool
}

// sold notes the worth of a poll that was made, and what it was expected to capture.
func (m *prices) sold(worth, gain float64) {
	if !m.any || worth < m.least {
		m.least, m.gain, m.any = worth, gain, true
	}
}

// close ends a ranking.
func (m *prices) close() {
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

// addChange takes in what the expected changes of a poll that was made were worth.
func (m *prices) addChange(worth, expected float64) {
	const grip = 0.98
	if !(expected > 0) {
		return
	}
	// Of this worth some is for exploration, and does not count.
	each := max(0, worth/expected-explore*m.change)
	if m.change == 0 {
		m.change = each
	}
	m.change = grip*m.change + (1-grip)*each
}

// level works out how often a source changes by what was last expected of all.
func (m *prices) level(parts []part) {
	changes, ticks := 0.0, 0.0
	for i := range parts {
		changes, ticks = changes+parts[i].changes, ticks+parts[i].ticks
	}
	if ticks > 0 {
		m.common = changes / ticks
	}
}

// An ageBound bounds how old copies grow where polls are for captures. A source that
// hardly ever changes brings few of them, and can be left alone for very long; when it
// does change, that goes unseen for as long. From the moment at which a copy is to be
// expected so many times as old as copies are on average where all take turns, a poll of
// it is worth what the budget asks of any poll, and the more the older it is.
//
// Such polls may take a share of the budget and no more: where they need more, all copies
// may grow older alike.
type ageBound struct {
	times   float64   // as old as by turns; 0 if there is no bound
	ages    []float64 // by slot: how old the copy is to be expected, in ticks, times its weight; scratch
	lifts   []bool    // by slot: it is worth what it is for its age
	may     float64   // how old a copy may be, in ticks; 0 while that is not known
	stretch float64   // of what is allowed, so that the share is kept
	made    float64   // polls for that
	polls   float64   // all of them, since the stretch was last looked at
}

// Oldest is how many times as old as in turn copies may grow by default,
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
func (o *ageBound) grow() { o.ages, o.lifts = append(o.ages, 0), append(o.lifts, false) }

// took notes a poll that was made.
func (o *ageBound) took(slot freshet.Slot) {
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

// bound works out how old copies may be, if there are any whose age is bounded.
func (o *ageBound) bound(parts []part, any bool) {
	if o.may = 0; o.times == 0 || !any {
		return
	}
	o.stretch = max(o.stretch, 1)
	sum, count := 0.0, 0.0
	for i := range parts {
		sum, count = sum+parts[i].ages, count+parts[i].aged
	}
	if count == 0 || sum == 0 {
		return
	}
	o.may = o.times * o.stretch * sum / count
}

// floor returns what a poll of a source is worth at least at a price of polls, whose copy
// is to be expected of an age, for its weight.
func (o *ageBound) floor(age, price float64) float64 {
	if o.may == 0 || price == 0 || age < o.may { // without a price no poll is known to be dear
		return 0
	}
	over := age / o.may
	return price * over * over
}

// weighAges works out how old the copies of the sources of a part are to be expected,
// before anything else bends what is expected of them.
func (a *Auto) weighAges(p *part, from, to int) {
	o := &a.old
	clear(o.lifts[from:to])
	if p.ages, p.aged = 0, 0; o.times == 0 || a.objectives.count[forCaptures] == 0 {
		return
	}
	pass := a.learner.FullPass()
	for slot := from; slot < to; slot++ {
		gap := a.gaps[slot]
		o.ages[slot] = 0
		factor := a.rank.Factor(freshet.Slot(slot))
		if gap <= 0 || factor == 0 || a.objectives.of[slot] != forCaptures || math.IsInf(a.wait[slot], 1) {
			continue
		}
		rate := a.wait[slot] / gap
		o.ages[slot] = factor * expectedAge(rate, gap)
		p.ages += factor * meanAge(rate, pass)
		p.aged++
	}
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
		if floor := a.old.floor(age, a.prices.price) / a.rank.Factor(freshet.Slot(slot)); floor > a.worth[slot] {
			a.worth[slot], a.lifted[slot], a.old.lifts[slot] = floor, true, true
		}
	}
}

// indexWorths are what readings of indexes are expected to bring, by the slots of the
// indexes. A pass gathers them, and the next goes by them.
type indexWorths struct {
	now, next hintWorths
}

// swap begins to gather again, and goes by what was gathered.
func (w *indexWorths) swap() {
	w.now, w.next = w.next, hintWorths{worth: w.now.worth[:0], changes: w.now.changes[:0]}
}

// hintWorths are what hints are expected to bring, by the slots of the indexes that give
// them; empty if that is nothing.
type hintWorths struct {
	worth   []float64
	changes []float64 // that they are expected to find
}

// add counts what a reading of an index in a slot, of so many, brings.
func (t *hintWorths) add(slot freshet.Slot, slots int, worth, changes float64) {
	if missing := slots - len(t.worth); missing > 0 {
		t.worth, t.changes = append(t.worth, make([]float64, missing)...), append(t.changes, make([]float64, missing)...)
	}
	t.worth[slot] += worth
	t.changes[slot] += changes
}

// What a poll is worth of a source that is known to have changed: as much as if so many
// changes were expected, and more for one that changes often, so that it comes before
// others of its kind.
const (
	asExpected = 3
	bySpeed    = 5 // for each change in the time in which all sources can be polled
)

// soon is the part of the worth of expected hints that a later reading would bring as well,
// and that counts for one now.
const soon = 0.3

// rarelyRead is how often an index without hints comes out of turn, next to other sources.
const rarelyRead = 0.1

// weighHint works out what a poll of a source with an index hint is worth, and what that
// makes a reading of the index worth.
//
// A reading shows of each page whether it has changed. Where it has, a poll of the page
// is sure to bring something, and that is more than polls bring otherwise; where it has
// not, no poll is wasted. For a page that would be polled now anyway, only the latter
// counts. Pages that change all the time, or so rarely that they are hardly polled, make
// an index worth nothing.
func (a *Auto) weighHint(t *hinted, steps float64) {
	slot := int(t.slot)
	value, factor := a.values.of(slot), a.rank.Factor(t.slot)
	if t.Pending > 0 {
		a.known[slot] = a.failed[slot] == 0 // or a source that is down would have every turn
		if a.known[slot] {
			a.worth[slot] = a.pending(slot, &t.Hint, a.worth[slot], steps)
		}
		return
	}
	x := t.News * a.credit[slot]
	if !(x > 0) {
		return
	}
	chance := -math.Expm1(-x)
	brings := value.Urgency(0)
	ticks := max(1, a.gaps[slot]*steps)
	if !value.Replaced() {
		brings = max(brings, value.Gain(x, ticks)/chance)
	}
	more := factor*brings - a.prices.brings
	if !(more > 0) {
		return
	}
	index := chance - x*(1-chance) // what would be lost if it were captured later
	anyway := max(0, factor*value.Gain(a.wait[slot], ticks)-a.prices.brings)
	if a.passes.full.gathers {
		a.indexes.next.add(t.Index, len(a.worth), max(0, (index+soon*(chance-index))*more-anyway), x)
	}
}

// pending returns what a poll is worth of a source that an index says has changed, if it
// is worth so much otherwise.
func (a *Auto) pending(slot int, h *learn.Hint, otherwise, steps float64) float64 {
	worth, age := 0.0, h.Age*steps
	v, aim := a.values.of(slot), a.objectives.of[slot]
	if aim != forCaptures {
		worth = a.objectives.scale[aim] * staleIndex(aim, max(h.Rate/steps, tinyRate), age)
	} else if v.Counts(age) {
		worth = v.Urgency(age)
		if !v.Replaced() {
			worth *= max(1, h.Changes)
		}
		worth += explore * a.prices.change * (asExpected + bySpeed*h.Rate*a.learner.FullPass())
	}
	return (1-h.Pending)*otherwise + h.Pending*max(otherwise, worth)
}

// gain returns what a poll of a source is expected to capture.
func (a *Auto) gain(slot freshet.Slot) float64 {
	gap := a.gaps[slot] * float64(a.learner.Tick()) / float64(a.step)
	return a.rank.Factor(slot) * a.values.of(int(slot)).Gain(a.wait[slot], max(1, gap))
}

// valueIndexes says what readings of the indexes in [from, to) are worth.
func (a *Auto) valueIndexes(from, to int) {
	for slot := from; slot < min(to, len(a.indexes.now.worth)); slot++ {
		worth := a.read(freshet.Slot(slot))
		if worth == 0 || a.had[slot] == a.passes.reached || a.idle(slot, a.indexes.now.changes[slot], a.gaps[slot]) {
			continue
		}
		a.worth[slot] += a.jitter.blur(worth)
		a.known[slot] = true
	}
}

// read returns what a reading of an index is worth, by the hints of the last pass.
func (a *Auto) read(slot freshet.Slot) float64 {
	factor := a.rank.Factor(slot)
	if int(slot) >= len(a.indexes.now.worth) || factor == 0 || !(a.prices.brings > 0) {
		return 0
	}
	worth := a.indexes.now.worth[slot] * a.prices.price / a.prices.brings / factor // in the unit of the other polls
	if a.failed[slot] != 0 {
		worth *= min(1, a.gaps[slot]/a.learner.FullPass()) // a poll that failed was its turn
	}
	return worth
}

// overrideWorth returns what a poll of a source with a forecast override is worth. Where
// changes are no likelier in the coming minutes than they have been on the whole since it
// was last seen, that is as with any source. Where a change was expected and nothing else
// is, waiting brings nothing: a poll is worth all that it is expected to capture.
func (a *Auto) overrideWorth(slot int, p *learn.Override, expected, gap, steps float64) float64 {
	plain := a.of(slot, expected, gap*steps)
	if a.objectives.of[slot] != forCaptures || !p.Holds {
		return plain * ready(p)
	}
	const little = 0.01
	v, x, age := a.values.of(slot), p.Expected, max(1, gap*steps)
	if !v.Replaced() {
		x = p.Count
	}
	gain := v.Gain(x, age)
	slope := (v.Gain(x+little, age) - gain) / little
	index := gain - p.Growth*gap*slope
	return max(plain, a.objectives.scale[forCaptures]*index+curious[forCaptures]*a.prices.change*x) * ready(p)
}

// ready returns how much of its worth a poll has now: less of it, if what was given of
// its source is about to come.
func ready(p *learn.Override) float64 {
	if chance := -math.Expm1(-p.Expected); p.Later > chance {
		return chance / p.Later
	}
	return 1
}

// quiet reports whether a source that was seen so many ticks ago is not worth a request
// where a forecast override alone says how many changes are expected since. It may be wrong:
// once a day the source is polled all the same.
func (a *Auto) quiet(expected, gap float64) bool {
	return expected < a.least && gap*float64(a.learner.Tick()) < float64(daily)
}

// rhythmWorth returns what a poll is worth of a source that keeps to certain minutes. What is
// there is worth more if it is about to be replaced, and a poll just before a change is
// due is worth less than one just after.
func (a *Auto) rhythmWorth(b *minuteRhythm, steps float64) float64 {
	x := -math.Log1p(-min(surest, b.Chance)) * a.credit[b.slot]
	worth := a.of(int(b.slot), x, a.gaps[b.slot]*steps) * b.Haste
	if b.Later > b.Chance {
		worth *= b.Chance / b.Later
	}
	return worth
}

// surest is how sure it is at most that a source has changed.
const surest = 0.999
