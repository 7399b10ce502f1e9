package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// A voice is what one index says of a page.
type voice struct {
	slot  freshet.Slot // of the index
	id    uint32
	dated float64 // when the page last changed by it, in ticks
	told  float64 // when that was read
	clear float64 // up to when it had been as it was, when the first of the moves was read
	moves int32   // new dates since the page was polled: changes that are pending, if it is true
}

const (
	mostVoices = 3       // for one page
	mostMoves  = 1 << 20 // that are counted
)

// A Hint is what indexes say of a source, and what it says of itself, as far as they can be
// believed.
type Hint struct {
	// Pending is the chance that a change is there which an index has told of, or the
	// source had foretold, and no poll has seen; Changes is how many were told, and Age is how long ago, in
	// ticks, the last of them was.
	Pending, Changes, Age float64

	// Expected is how many changes are to be expected since the source was last
	// seen, beside those, and in how many ticks: where an index says that nothing has
	// changed, what is expected begins with its last reading.
	Expected, Ticks float64

	// Index is the source that is expected to tell of the next change, News how many
	// changes it would tell of now, and Rate how many the source has in a tick.
	Index      freshet.Slot
	News, Rate float64
}

// Hear tells what indexes say of each source that any speaks for, and what sources say of
// when they will change, in the order of their slots. Expected is what Likely has set for
// the same moment and slots.
func (l *Learner) Hear(now time.Time, from freshet.Slot, expected []float64, tell func(slot freshet.Slot, h *Hint)) {
	x := l.moment(now)
	var h Hint
	for i, whole := range expected[:l.count(from, len(expected))] {
		slot := from + freshet.Slot(i)
		if !l.isHeard(slot) && l.says[slot] == nil || !(whole > 0) || math.IsInf(whole, 1) {
			continue
		}
		if l.hint(slot, x, whole, &h) {
			tell(slot, &h)
		}
	}
}

// count returns how many of the n slots from one on the Learner knows.
func (l *Learner) count(from freshet.Slot, n int) int { return max(0, min(n, l.pages.Len()-int(from))) }

// isHeard reports whether any index speaks for a source.
func (l *Learner) isHeard(slot freshet.Slot) bool {
	return int(slot) < len(l.heard) && len(l.heard[slot]) > 0
}

// hint works out what indexes say of a source of which so many changes are expected at
// x without them, and what it says of itself. It reports whether that is anything.
func (l *Learner) hint(slot freshet.Slot, x, whole float64, h *Hint) bool {
	*h = Hint{Expected: whole, Ticks: x - l.pages.At(slot).last, Rate: l.know(slot)}
	heard := l.hearIndexes(slot, x, whole, h)
	return l.foresay(slot, x, h) || heard
}

// hearIndexes works out what indexes say of a source.
func (l *Learner) hearIndexes(slot freshet.Slot, x, whole float64, h *Hint) bool {
	v, pending := l.best(slot)
	if v == nil {
		return false
	}
	in := l.indexes[v.slot]
	h.Index = v.slot
	if pending != nil {
		h.Pending, h.Changes, h.Age = l.indexes[pending.slot].trust.borneOut, float64(pending.moves), max(0, x-pending.dated)
	}
	leaks, worth := in.trust.leaks[v.dates()], in.trust.worth(v)
	q, part := l.quietPart(slot, v, x, whole)
	h.News = (whole - part) * worth
	if pending != nil { // from the last reading on nothing is known, whatever came before
		h.News = l.since(slot, in.read, x, whole) * worth
	}
	h.Expected = whole - (1-leaks)*part
	h.Ticks -= (1 - leaks) * q
	return true
}

// dates returns 1 if the index has dated the page, and 0 if not.
func (v *voice) dates() int {
	if v.dated > math.Inf(-1) {
		return 1
	}
	return 0
}

// best returns the voice that is believed most of those that speak for a source, and
// of those that tell of a change that no poll has seen. It is nil if there is none.
func (l *Learner) best(slot freshet.Slot) (best, pending *voice) {
	if int(slot) >= len(l.heard) {
		return nil, nil
	}
	for i := range l.heard[slot] {
		v := &l.heard[slot][i]
		if !l.believable(v) {
			continue
		}
		t := &l.indexes[v.slot].trust
		if best == nil || t.worth(v) > l.indexes[best.slot].trust.worth(best) {
			best = v
		}
		if v.moves > 0 && (pending == nil || t.borneOut > l.indexes[pending.slot].trust.borneOut) {
			pending = v
		}
	}
	return best, pending
}

// quietPart returns for how many ticks since a source was last seen an index says that
// it was quiet, and how many of the changes expected until x fall into that time.
func (l *Learner) quietPart(slot freshet.Slot, v *voice, x, whole float64) (ticks, part float64) {
	in, last := l.indexes[v.slot], l.pages.At(slot).last
	from, to := max(last, in.from), min(in.read, x)
	if v.moves > 0 {
		to = min(to, v.clear)
	}
	if !(to > from) {
		return 0, 0
	}
	if from > last {
		return to - from, whole * (to - from) / (x - last)
	}
	return to - from, max(0, whole-l.since(slot, to, x, whole))
}

// since returns how many changes are expected of a source from a moment after it was
// last seen until x, for which observeSite has been called, when so many are
// since it was last seen.
func (l *Learner) since(slot freshet.Slot, from, x, whole float64) float64 {
	p := l.pages.At(slot)
	s := p.site
	tick := int64(math.Floor(from))
	if from <= p.last {
		return whole
	}
	if from >= x {
		return 0
	}
	if s.pulse == nil || tick <= l.open-span || tick > l.open {
		return whole * (x - from) / (x - p.last)
	}
	f, c := vector{always: 1}, l.viewOf(s)
	plain := max(tiny, s.now.plain-c.plain.upto(from, tick))
	bent := s.now.bent - c.bent.upto(from, tick)
	f[everywhere] = logRatio(bent, plain)
	f[onSite] = logRatio(s.now.a-c.a.upto(from, tick), bent)
	f[profileOfSite] = logRatio(plain, x-from)
	mass := plain
	if own := l.ownOf(slot); own.is() {
		mass = plain * own.at(&l.ownShape, l.phaseOf(l.open)) // of the present, since it is mostly a short time
		f[profileOfPage] = logRatio(mass, plain)
	}
	return min(whole, l.know(slot)*mass*math.Exp(l.fix.log(&f)))
}

// massBetween returns the mass of the time between two moments for a source.
func (l *Learner) massBetween(slot freshet.Slot, from, to float64) (mass float64) {
	first := max(int64(math.Floor(from)), l.open-window+1)
	if before := min(float64(first), to) - from; before > 0 {
		mass = before
	}
	for t := first; t <= l.open && float64(t) < to; t++ {
		mass += max(0, min(to, float64(t+1))-max(from, float64(t))) * l.massOf(slot, t)
	}
	return mass
}

// holdAgainst learns from a poll at x how far what indexes said of a source was true,
// where so many changes were expected since it was last seen.
func (l *Learner) holdAgainst(slot freshet.Slot, x, whole float64, changed bool) {
	if int(slot) >= len(l.heard) {
		return
	}
	for i := range l.heard[slot] {
		v := &l.heard[slot][i]
		if !l.believable(v) {
			continue
		}
		l.keep(v.slot)
		in := l.indexes[v.slot]
		if v.moves > 0 {
			if v.dated <= x {
				in.trust.bear(-math.Expm1(-whole), changed, &l.kinds[in.kind])
			}
			continue
		}
		_, quiet := l.quietPart(slot, v, x, whole)
		switch {
		case !(quiet > 0):
		case !changed:
			in.trust.leak(v, quiet, false, &l.kinds[in.kind])
		default:
			in.wait(untold{slot: slot, at: x, quiet: quiet, rest: whole - quiet, read: in.read})
		}
	}
}

// heed says what indexes had said of the time that a poll saw, where they can be
// believed. It reports whether the poll was made because one had told of a change, and
// which share of what was expected was still to be expected after what they said. A poll
// that found nothing has seen all of the time, whatever was said.
func (l *Learner) heed(slot freshet.Slot, whole float64, dated bool, see *sighting) (told bool, open float64) {
	v, pending := l.best(slot)
	if pending != nil && l.indexes[pending.slot].trust.borneOut >= believed && pending.dated <= see.at {
		if see.changed && !dated {
			l.dateByIndex(slot, pending, see)
		}
		return true, 1
	}
	if v == nil || !(whole > 0) {
		return false, 1
	}
	_, quiet := l.quietPart(slot, v, see.at, whole)
	open = 1 - (1-l.indexes[v.slot].trust.leaks[v.dates()])*quiet/whole
	if see.changed && !dated {
		see.quiet = (1 - open) * see.exposure
		see.exposure *= open
	}
	return false, open
}

// dateByIndex dates a change that an index has told of.
func (l *Learner) dateByIndex(slot freshet.Slot, v *voice, see *sighting) {
	tick := int64(math.Floor(v.dated))
	last := l.pages.At(slot).last
	if tick <= l.open-window || tick < int64(math.Floor(last)) {
		return
	}
	d := &see.dated
	d.n, d.ticks[0], d.moments[0] = 1, tick, max(tiny, l.massOf(slot, tick))
	d.quiet = l.massBetween(slot, float64(tick+1), min(see.at, l.indexes[v.slot].read)) + l.massBetween(slot, last, min(v.clear, float64(tick)))
	d.since = int64(math.Floor(last)) // but for the time between two readings
}

// polled takes in that a source was seen at x: what was told before is no news.
func (l *Learner) polled(slot freshet.Slot, x float64) {
	if int(slot) >= len(l.heard) {
		return
	}
	for i := range l.heard[slot] {
		if v := &l.heard[slot][i]; v.dated <= x {
			v.moves = 0
		}
	}
}

// heardOf returns what the index that is believed most says of a source.
func (l *Learner) heardOf(slot freshet.Slot) (h freshet.Hearsay) {
	v, pending := l.best(slot)
	if pending != nil {
		v = pending
	}
	if v == nil {
		return h
	}
	in := l.indexes[v.slot]
	h = freshet.Hearsay{Index: v.slot, Kind: in.kind, Right: float64(in.trust.right), Times: float64(in.trust.times)}
	if v.moves > 0 {
		h.Dated = l.clock.time(v.dated)
	} else {
		h.Until = l.clock.time(in.read)
	}
	return h
}
