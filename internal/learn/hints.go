package learn

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/learn/outlook"
)

// An index is a source that gives hints on others: a sitemap, a feed, a list of links. Its
// hints are kept with the pages; the index itself keeps when it was read. So a reading costs
// only the pages that it names as changed: all others that it lists are unchanged by then.
type index struct {
	kind evidence.IndexKind
	id   uint32  // tells it from an index that had the slot before
	read float64 // when it was last read, in ticks
	from float64 // since when its readings have no gap
	last float64 // when it was read before that

	trust   trust
	waiting []untold // changes that it has not named yet
	finds   float64  // share of its readings that named unknown pages
}

// An untold is a change that a poll found before the index named it. The index is read before
// or after the page: whether it omits changes shows when it is read again.
type untold struct {
	slot  freshet.Slot
	at    float64 // of the poll that found it
	quiet float64 // changes expected up to when the index had been read
	rest  float64 // changes expected after that
	read  float64 // when it had been read
}

// What an index may make a Learner keep.
const (
	mostNamed     = 1 << 20 // pages in one reading; the rest is ignored
	mostUnmatched = 1 << 20 // pages that no source is of, of all indexes together
	mostWaiting   = 1024    // changes that wait for one index
)

// indexHints are the hints that indexes give on pages; all empty while there is no index.
type indexHints struct {
	*expectations
	indexes []*index                       // by slot; nil where a source is none
	hints   [][]pageHint                   // by slot of the page
	kinds   [evidence.IndexKinds]kindTrust // how far those of a kind can be believed
	keyOf   []crawl.PageKey                // by slot; 0 if it has none
	keys    map[crawl.PageKey]freshet.Slot // the page of a key, the last that was put
	alike   []freshet.Slot                 // by slot: another page of the same key; -1 if there is none
	made    uint32                         // how many indexes there have been

	unmatched map[crawl.PageKey]unmatchedHints      // what is said of pages that are no sources
	unclaimed map[crawl.PageKey]evidence.ChangeFreq // how often they change by a sitemap
}

// indexAt returns the index in a slot; nil if it is none.
func (l *indexHints) indexAt(slot freshet.Slot) *index {
	if int(slot) >= len(l.indexes) {
		return nil
	}
	return l.indexes[slot]
}

// Finds returns the share of the recent changes of an index that named unknown pages; 1 if
// the source is no index.
func (l *Learner) Finds(slot freshet.Slot) float64 {
	if in := l.hints.indexAt(slot); in != nil {
		return in.finds
	}
	return 1
}

// read takes in a reading of an index at x; other sources are ignored.
func (l *indexHints) read(slot freshet.Slot, x float64, o *freshet.Outcome) {
	in := l.indexAt(slot)
	if in == nil && o.Word == nil {
		return
	}
	begins := in == nil
	if begins {
		in = l.newIndex(slot, kindOf(o.Word))
	}
	if !begins && x < in.read { // an older poll, or a clock that was set back
		return
	}
	in.last = in.read
	if begins {
		in.last = x
	}
	if w := o.Word; w != nil {
		from := math.Inf(-1)
		if !w.From.IsZero() {
			from = l.clock.at(w.From) // which lies ahead if it says nothing of others
		}
		if begins || math.IsInf(from, -1) || from > in.read || in.from > in.read { // what came between is not known, or nothing was said of it
			in.from = from
		}
		in.kind = kindOf(w)
		l.addAll(slot, in, x, w, begins)
		l.addClaims(slot, w)
	}
	in.read = x
	l.settleUntold(slot, in)
	in.trust.renew(&l.kinds[in.kind])
}

// kindOf returns the kind of index that a hint comes from.
func kindOf(w *evidence.IndexHint) evidence.IndexKind { return min(w.Kind, evidence.IndexKinds-1) }

// newIndex makes a source an index.
func (l *indexHints) newIndex(slot freshet.Slot, kind evidence.IndexKind) *index {
	for int(slot) >= len(l.indexes) {
		l.indexes = append(l.indexes, nil)
	}
	l.made++
	in := &index{kind: kind, id: l.made}
	in.trust.renew(&l.kinds[kind])
	l.indexes[slot] = in
	l.matchAll()
	return in
}

// addAll takes in the hints on pages that an index gives at x.
func (l *indexHints) addAll(slot freshet.Slot, in *index, x float64, w *evidence.IndexHint, begins bool) {
	found := false
	for i := range w.Pages[:min(len(w.Pages), mostNamed)] {
		word := &w.Pages[i]
		says := pageHint{slot: slot, id: in.id, dated: x, told: x}
		switch {
		case !word.Date.IsZero():
			says.dated = min(x, l.clock.at(word.Date)) // nothing is told ahead of its time
		case begins: // it may have been there for long
			says.dated = math.Inf(-1)
		}
		at, known := l.keys[word.Page]
		switch {
		case !known && word.Gone:
			l.dropUnmatched(word.Page, slot)
		case !known:
			found = l.keepUnmatched(word.Page, says) || found
		default:
			for ; at >= 0; at = l.alike[at] {
				if at != slot {
					l.add(at, says, word.Gone)
				}
			}
		}
	}
	finds := 0.0
	if found {
		finds = 1
	}
	switch {
	case !begins:
		in.finds = findsGrip*in.finds + (1-findsGrip)*finds
	case len(w.Pages) == 0: // of which nothing can be said yet
		in.finds = 1
	default:
		in.finds = finds
	}
}

// findsGrip is what a word leaves of what is thought of how often an index finds pages.
const findsGrip = 0.9

// add takes in what an index says of a page that is a source.
func (l *indexHints) add(slot freshet.Slot, says pageHint, gone bool) {
	l.keep(slot)
	for int(slot) >= len(l.hints) {
		l.hints = append(l.hints, nil)
	}
	list := l.hints[slot]
	i := slices.IndexFunc(list, func(v pageHint) bool { return v.slot == says.slot })
	if i >= 0 && list[i].id != says.id { // of an index that is no more
		list = slices.Delete(list, i, i+1)
		i = -1
	}
	switch {
	case gone && i >= 0:
		list = slices.Delete(list, i, i+1)
	case gone:
	case i >= 0:
		v := &list[i]
		if says.dated > l.pages.At(slot).last && says.dated > v.dated {
			if v.moves == 0 {
				v.clear = l.pages.At(slot).last
				if in := l.indexes[v.slot]; in.from <= v.clear {
					v.clear = max(v.clear, in.last)
				}
			}
			v.moves = min(v.moves+1, mostMoves)
		}
		v.dated, v.told = says.dated, says.told
	default:
		says.clear = l.pages.At(slot).last
		if says.dated > l.pages.At(slot).last {
			says.moves = 1
		}
		if len(list) == mostHints {
			least := l.least(list)
			list = slices.Delete(list, least, least+1)
		}
		list = append(list, says)
	}
	l.hints[slot] = list
}

// settleUntold decides of the changes that had not been told whether the index has
// kept them quiet.
func (l *indexHints) settleUntold(slot freshet.Slot, in *index) {
	kept := in.waiting[:0]
	for _, u := range in.waiting {
		if u.at >= in.read {
			kept = append(kept, u)
			continue
		}
		v := l.hintFrom(u.slot, slot)
		if v == nil {
			continue
		}
		told := v.told > u.at && v.dates() == 1
		switch {
		case told && v.dated > u.read: // in time
			in.trust.leak(v, u.quiet, false, &l.kinds[in.kind])
		case told: // late
			in.trust.leak(v, u.quiet, true, &l.kinds[in.kind])
		default:
			in.trust.leak(v, u.quiet+u.rest, true, &l.kinds[in.kind])
		}
	}
	in.waiting = kept
}

// wait takes down a change that an index has not told of.
func (in *index) wait(u untold) {
	if len(in.waiting) == mostWaiting {
		in.waiting = slices.Delete(in.waiting, 0, 1)
	}
	in.waiting = append(in.waiting, u)
}

// hintFrom returns what an index says of a page; nil if it does not speak for it.
func (l *indexHints) hintFrom(page, index freshet.Slot) *pageHint {
	if int(page) >= len(l.hints) {
		return nil
	}
	for i := range l.hints[page] {
		if v := &l.hints[page][i]; v.slot == index && l.isCurrent(v) {
			return v
		}
	}
	return nil
}

// isCurrent reports whether the index that said something is still there.
func (l *indexHints) isCurrent(v *pageHint) bool {
	in := l.indexAt(v.slot)
	return in != nil && in.id == v.id
}

// least returns which of the hints for a page is worth least.
func (l *indexHints) least(list []pageHint) int {
	least, worth := 0, math.Inf(1)
	for i := range list {
		w := -1.0
		if in := l.indexAt(list[i].slot); in != nil && in.id == list[i].id {
			w = in.trust.worth(&list[i])
		}
		if w < worth {
			least, worth = i, w
		}
	}
	return least
}

// removeIndex forgets an index.
func (l *indexHints) removeIndex(slot freshet.Slot) {
	in := l.indexAt(slot)
	if in == nil {
		return
	}
	l.indexes[slot] = nil
	for key, u := range l.unmatched {
		if u[0].id == in.id || u[1].id == in.id {
			l.dropUnmatched(key, slot)
		}
	}
}

// clampTimes sees to it that nothing was read after x: a clock may have been set back.
func (l *indexHints) clampTimes(x float64) {
	for _, in := range l.indexes {
		if in == nil {
			continue
		}
		in.read, in.last, in.from = min(in.read, x), min(in.last, x), min(in.from, x)
		for i := range in.waiting {
			in.waiting[i].at, in.waiting[i].read = min(in.waiting[i].at, x), min(in.waiting[i].read, x)
		}
	}
	for slot := range l.hints {
		for i := range l.hints[slot] {
			v := &l.hints[slot][i]
			v.dated, v.told, v.clear = min(v.dated, x), min(v.told, x), min(v.clear, x)
		}
	}
}

// A pageHint is what one index says about a page.
type pageHint struct {
	slot  freshet.Slot // of the index
	id    uint32
	dated float64 // when the page last changed by it, in ticks
	told  float64 // when that was read
	clear float64 // up to when it had been as it was, when the first of the moves was read
	moves int32   // new dates since the page was polled: changes that are pending, if it is true
}

const (
	mostHints = 3       // for one page
	mostMoves = 1 << 20 // that are counted
)

// A Hint is what index hints and announcements say about a source, as far as they are
// reliable.
type Hint struct {
	// Pending is the probability of a change that an index has named, or the source had
	// announced, and no poll has seen; Changes is how many were named, and Age how many
	// ticks ago the last of them was.
	Pending, Changes, Age float64

	// Expected is how many other changes to expect since the source was last seen, in so
	// many Ticks: where an index shows no change, both begin with its last reading.
	Expected, Ticks float64

	// Index is the source that is expected to name the next change, News how many changes
	// it would name now, and Rate how many the source has in a tick.
	Index      freshet.Slot
	News, Rate float64
}

// Hints calls tell for each source with index hints or announcements, in the order of their
// slots. Expected is what Likely has set for the same moment and slots.
func (l *Learner) Hints(now time.Time, from freshet.Slot, expected []float64, tell func(slot freshet.Slot, h *Hint)) {
	x := l.moment(now)
	var h Hint
	for i, whole := range expected[:l.count(from, len(expected))] {
		slot := from + freshet.Slot(i)
		if !l.hints.has(slot) && l.announced.of[slot] == nil || !(whole > 0) || math.IsInf(whole, 1) {
			continue
		}
		if l.hint(slot, x, whole, &h) {
			tell(slot, &h)
		}
	}
}

// count returns how many of the n slots from one on the Learner knows.
func (l *population) count(from freshet.Slot, n int) int {
	return max(0, min(n, l.pages.Len()-int(from)))
}

// has reports whether there is an index hint on a source.
func (l *indexHints) has(slot freshet.Slot) bool {
	return int(slot) < len(l.hints) && len(l.hints[slot]) > 0
}

// hint works out the hint on a source of which whole changes are expected at x without it,
// and reports whether there is one.
func (l *Learner) hint(slot freshet.Slot, x, whole float64, h *Hint) bool {
	*h = Hint{Expected: whole, Ticks: x - l.pages.At(slot).last, Rate: l.know(slot)}
	heard := l.hints.apply(slot, x, whole, h)
	return l.announced.apply(slot, x, h) || heard
}

// apply works out what the index hints on a source say.
func (l *indexHints) apply(slot freshet.Slot, x, whole float64, h *Hint) bool {
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
func (v *pageHint) dates() int {
	if v.dated > math.Inf(-1) {
		return 1
	}
	return 0
}

// best returns the hint that is believed most of those that speak for a source, and
// of those that tell of a change that no poll has seen. It is nil if there is none.
func (l *indexHints) best(slot freshet.Slot) (best, pending *pageHint) {
	if int(slot) >= len(l.hints) {
		return nil, nil
	}
	for i := range l.hints[slot] {
		v := &l.hints[slot][i]
		if !l.isCurrent(v) {
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
func (l *indexHints) quietPart(slot freshet.Slot, v *pageHint, x, whole float64) (ticks, part float64) {
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
func (l *expectations) since(slot freshet.Slot, from, x, whole float64) float64 {
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
func (l *expectations) massBetween(slot freshet.Slot, from, to float64) (mass float64) {
	first := max(int64(math.Floor(from)), l.open-window+1)
	if before := min(float64(first), to) - from; before > 0 {
		mass = before
	}
	for t := first; t <= l.open && float64(t) < to; t++ {
		mass += max(0, min(to, float64(t+1))-max(from, float64(t))) * l.massOf(slot, t)
	}
	return mass
}

// check learns from a poll at x how far what indexes said of a source was true,
// where so many changes were expected since it was last seen.
func (l *indexHints) check(slot freshet.Slot, x, whole float64, changed bool) {
	if int(slot) >= len(l.hints) {
		return
	}
	for i := range l.hints[slot] {
		v := &l.hints[slot][i]
		if !l.isCurrent(v) {
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

// use says what indexes had said of the time that a poll saw, where they can be
// believed. It reports whether the poll was made because one had told of a change, and
// which share of what was expected was still to be expected after what they said. A poll
// that found nothing has seen all of the time, whatever was said.
func (l *indexHints) use(slot freshet.Slot, whole float64, dated bool, see *sighting) (told bool, open float64) {
	v, pending := l.best(slot)
	if pending != nil && l.indexes[pending.slot].trust.borneOut >= believed && pending.dated <= see.at {
		if see.changed && !dated {
			l.date(slot, pending, see)
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

// date dates a change that an index has told of.
func (l *indexHints) date(slot freshet.Slot, v *pageHint, see *sighting) {
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
func (l *indexHints) polled(slot freshet.Slot, x float64) {
	if int(slot) >= len(l.hints) {
		return
	}
	for i := range l.hints[slot] {
		if v := &l.hints[slot][i]; v.dated <= x {
			v.moves = 0
		}
	}
}

// summary returns what the index that is believed most says of a source.
func (l *indexHints) summary(slot freshet.Slot) (h outlook.IndexHint) {
	v, pending := l.best(slot)
	if pending != nil {
		v = pending
	}
	if v == nil {
		return h
	}
	in := l.indexes[v.slot]
	h = outlook.IndexHint{Index: v.slot, Kind: in.kind, Right: float64(in.trust.right), Times: float64(in.trust.times)}
	if v.moves > 0 {
		h.Dated = l.clock.time(v.dated)
	} else {
		h.Until = l.clock.time(in.read)
	}
	return h
}

// An IndexTrust is how far an index can be believed.
type IndexTrust struct {
	Kind     evidence.IndexKind
	BorneOut float64 // share of the changes that it tells of which are there
	Told     float64 // share of the changes of pages that it dates of which it tells

	// Of Times polls that what it said could be held against, it was true of Right. What
	// is long past counts for less.
	Right, Times float64
}

// IndexTrust returns how far a source can be believed that speaks for others, and whether
// it does.
func (l *Learner) IndexTrust(slot freshet.Slot) (IndexTrust, bool) {
	in := l.hints.indexAt(slot)
	if in == nil {
		return IndexTrust{}, false
	}
	t := &in.trust
	return IndexTrust{Kind: in.kind, BorneOut: t.borneOut, Told: 1 - t.leaks[1], Right: float64(t.right), Times: float64(t.times)}, true
}
