package learn

import (
	"math"
	"slices"

	"freshet/internal/freshet"
)

// An index is a source that speaks for others. What it says of pages is kept with the
// pages; of the index itself it is kept when it was read. So a reading costs what is
// named in it: of all other pages that it speaks for, it has said by then that they
// are as they were.
type index struct {
	kind freshet.IndexKind
	id   uint32  // tells it from an index that had the slot before
	read float64 // when it was last read, in ticks
	from float64 // since when nothing is kept quiet, without a gap
	last float64 // when it was read before that

	trust   trust
	waiting []untold // changes that it has not told of, and may yet
	finds   float64  // share of its words that named pages of which nothing was known
}

// An untold is a change that a poll found and an index had not told of. The index is
// read before or after the page: whether it keeps changes quiet shows when it is read again.
type untold struct {
	slot  freshet.Slot
	at    float64 // of the poll that found it
	quiet float64 // changes expected up to when the index had been read
	rest  float64 // changes expected after that
	read  float64 // when it had been read
}

// What an index may make a Learner keep.
const (
	mostNamed   = 1 << 20 // pages in one word; what goes beyond is not looked at
	mostUnmet   = 1 << 20 // pages that no source is of, of all indexes together
	mostWaiting = 1024    // changes that wait for one index
)

// voiceOf returns the index in a slot; nil if it is none.
func (l *Learner) voiceOf(slot freshet.Slot) *index {
	if int(slot) >= len(l.indexes) {
		return nil
	}
	return l.indexes[slot]
}

// Finds returns how often an index has named pages of late of which nothing was known,
// when it changed; 1 if a source is no index.
func (l *Learner) Finds(slot freshet.Slot) float64 {
	if in := l.voiceOf(slot); in != nil {
		return in.finds
	}
	return 1
}

// readIndex takes in that a source was seen at x, if it is an index.
func (l *Learner) readIndex(slot freshet.Slot, x float64, o *freshet.Outcome) {
	in := l.voiceOf(slot)
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
		l.hearWord(slot, in, x, w, begins)
		l.hearClaims(slot, w)
	}
	in.read = x
	l.settleUntold(slot, in)
	in.trust.renew(&l.kinds[in.kind])
}

// kindOf returns the kind of index that a word comes from.
func kindOf(w *freshet.Word) freshet.IndexKind { return min(w.Kind, freshet.IndexKinds-1) }

// newIndex makes a source an index.
func (l *Learner) newIndex(slot freshet.Slot, kind freshet.IndexKind) *index {
	for int(slot) >= len(l.indexes) {
		l.indexes = append(l.indexes, nil)
	}
	l.spoke++
	in := &index{kind: kind, id: l.spoke}
	in.trust.renew(&l.kinds[kind])
	l.indexes[slot] = in
	l.meetAll()
	return in
}

// hearWord takes in what an index says of pages at x.
func (l *Learner) hearWord(slot freshet.Slot, in *index, x float64, w *freshet.Word, begins bool) {
	found := false
	for i := range w.Pages[:min(len(w.Pages), mostNamed)] {
		word := &w.Pages[i]
		says := voice{slot: slot, id: in.id, dated: x, told: x}
		switch {
		case !word.Date.IsZero():
			says.dated = min(x, l.clock.at(word.Date)) // nothing is told ahead of its time
		case begins: // it may have been there for long
			says.dated = math.Inf(-1)
		}
		at, known := l.keys[word.Page]
		switch {
		case !known && word.Gone:
			l.unsay(word.Page, slot)
		case !known:
			found = l.keepUnmet(word.Page, says) || found
		default:
			for ; at >= 0; at = l.alike[at] {
				if at != slot {
					l.hear(at, says, word.Gone)
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

// hear takes in what an index says of a page that is a source.
func (l *Learner) hear(slot freshet.Slot, says voice, gone bool) {
	l.keep(slot)
	for int(slot) >= len(l.heard) {
		l.heard = append(l.heard, nil)
	}
	list := l.heard[slot]
	i := slices.IndexFunc(list, func(v voice) bool { return v.slot == says.slot })
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
		if len(list) == mostVoices {
			least := l.leastVoice(list)
			list = slices.Delete(list, least, least+1)
		}
		list = append(list, says)
	}
	l.heard[slot] = list
}

// settleUntold decides of the changes that had not been told whether the index has
// kept them quiet.
func (l *Learner) settleUntold(slot freshet.Slot, in *index) {
	kept := in.waiting[:0]
	for _, u := range in.waiting {
		if u.at >= in.read {
			kept = append(kept, u)
			continue
		}
		v := l.voice(u.slot, slot)
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

// voice returns what an index says of a page; nil if it does not speak for it.
func (l *Learner) voice(page, index freshet.Slot) *voice {
	if int(page) >= len(l.heard) {
		return nil
	}
	for i := range l.heard[page] {
		if v := &l.heard[page][i]; v.slot == index && l.believable(v) {
			return v
		}
	}
	return nil
}

// believable reports whether the index that said something is still there.
func (l *Learner) believable(v *voice) bool {
	in := l.voiceOf(v.slot)
	return in != nil && in.id == v.id
}

// leastVoice returns which of the voices for a page is worth least.
func (l *Learner) leastVoice(list []voice) int {
	least, worth := 0, math.Inf(1)
	for i := range list {
		w := -1.0
		if in := l.voiceOf(list[i].slot); in != nil && in.id == list[i].id {
			w = in.trust.worth(&list[i])
		}
		if w < worth {
			least, worth = i, w
		}
	}
	return least
}

// What an index says of pages that are no sources yet is kept for when they are: two
// voices for each at most.
type unmet [2]voiceNote

// A voiceNote is a voice in short.
type voiceNote struct {
	slot  freshet.Slot
	id    uint32 // 0 if there is none
	dated float64
}

// keepUnmet keeps what an index says of a page that no source is of. It reports whether
// nothing was known of the page.
func (l *Learner) keepUnmet(key freshet.PageKey, says voice) (isNew bool) {
	u, known := l.unmet[key]
	if !known && len(l.unmet) >= mostUnmet {
		return false
	}
	l.keepNamed(key)
	note := voiceNote{says.slot, says.id, says.dated}
	switch {
	case u[0].id == 0 || u[0].slot == says.slot:
		u[0] = note
	default:
		u[1] = note
	}
	l.unmet[key] = u
	return !known
}

// unsay forgets what an index said of a page that no source is of.
func (l *Learner) unsay(key freshet.PageKey, index freshet.Slot) {
	u, known := l.unmet[key]
	if !known {
		return
	}
	l.keepNamed(key)
	kept := unmet{}
	n := 0
	for _, note := range u {
		if note.id != 0 && note.slot != index {
			kept[n] = note
			n++
		}
	}
	if n == 0 {
		delete(l.unmet, key)
		return
	}
	l.unmet[key] = kept
}

// meetAll makes the pages known by their keys, once there is an index.
func (l *Learner) meetAll() {
	if l.keys != nil {
		return
	}
	l.keys, l.unmet = make(map[freshet.PageKey]freshet.Slot, l.pages.Len()), map[freshet.PageKey]unmet{}
	if l.unclaimed == nil {
		l.unclaimed = map[freshet.PageKey]freshet.ChangeFreq{}
	}
	for slot, p := range l.pages.All {
		if p.site != nil {
			l.meet(slot)
		}
	}
}

// meet makes a page known by its key, and tells it what was said of it before.
func (l *Learner) meet(slot freshet.Slot) {
	for len(l.alike) < l.pages.Len() {
		l.alike = append(l.alike, -1)
	}
	key := l.keyOf[slot]
	if l.keys == nil || key == 0 {
		return
	}
	l.alike[slot] = -1
	if at, known := l.keys[key]; known {
		l.alike[slot] = at
	}
	l.keys[key] = slot
	if freq, said := l.unclaimed[key]; said {
		l.keep(slot)
		l.pages.At(slot).claim = freq
		delete(l.unclaimed, key)
	}
	notes, said := l.unmet[key]
	if !said {
		return
	}
	l.keepNamed(key)
	delete(l.unmet, key)
	for _, note := range notes {
		in := l.voiceOf(note.slot)
		if note.id == 0 || in == nil || in.id != note.id || note.slot == slot {
			continue
		}
		l.hear(slot, voice{slot: note.slot, id: note.id, dated: note.dated, told: in.read}, false)
	}
}

// part forgets a page by its key, and keeps what was said of it.
func (l *Learner) part(slot freshet.Slot) {
	key := l.keyOf[slot]
	if l.keys == nil || key == 0 {
		return
	}
	if l.keys[key] == slot {
		if next := l.alike[slot]; next >= 0 {
			l.keys[key] = next
		} else {
			delete(l.keys, key)
		}
	} else {
		for at := l.keys[key]; at >= 0; at = l.alike[at] {
			if l.alike[at] == slot {
				l.alike[at] = l.alike[slot]
				break
			}
		}
	}
	l.alike[slot] = -1
	_, others := l.keys[key]
	if claim := l.pages.At(slot).claim; claim != 0 && !others && len(l.unclaimed) < mostUnmet {
		l.unclaimed[key] = claim
	}
	l.pages.At(slot).claim = 0
	if int(slot) >= len(l.heard) {
		return
	}
	for _, v := range l.heard[slot] {
		if !l.believable(&v) {
			continue
		}
		l.keep(v.slot)
		in := l.indexes[v.slot]
		in.waiting = slices.DeleteFunc(in.waiting, func(u untold) bool { return u.slot == slot })
		if !others {
			l.keepUnmet(key, v)
		}
	}
	l.heard[slot] = nil
}

// silence forgets an index.
func (l *Learner) silence(slot freshet.Slot) {
	in := l.voiceOf(slot)
	if in == nil {
		return
	}
	l.indexes[slot] = nil
	for key, u := range l.unmet {
		if u[0].id == in.id || u[1].id == in.id {
			l.unsay(key, slot)
		}
	}
}

// keyed notes the key of a source.
func (l *Learner) keyed(slot freshet.Slot, url string) {
	var key freshet.PageKey // 0 means none
	if url != "" {
		key = freshet.PageKeyOf(url)
	}
	for int(slot) >= len(l.keyOf) {
		l.keyOf = append(l.keyOf, 0)
	}
	if l.keyOf[slot] == key {
		return
	}
	l.part(slot)
	l.keyOf[slot] = key
	l.meet(slot)
}

// recallIndexes sees to it that nothing was read after x: a clock may have been set back.
func (l *Learner) recallIndexes(x float64) {
	for _, in := range l.indexes {
		if in == nil {
			continue
		}
		in.read, in.last, in.from = min(in.read, x), min(in.last, x), min(in.from, x)
		for i := range in.waiting {
			in.waiting[i].at, in.waiting[i].read = min(in.waiting[i].at, x), min(in.waiting[i].read, x)
		}
	}
	for slot := range l.heard {
		for i := range l.heard[slot] {
			v := &l.heard[slot][i]
			v.dated, v.told, v.clear = min(v.dated, x), min(v.told, x), min(v.clear, x)
		}
	}
}
