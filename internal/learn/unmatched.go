package learn

import (
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
)

// What an index says of pages that are no sources yet is kept for when they are: two
// hints for each at most.
type unmatchedHints [2]hintNote

// A hintNote is a hint in short.
type hintNote struct {
	slot  freshet.Slot
	id    uint32 // 0 if there is none
	dated float64
}

// keepUnmatched keeps what an index says of a page that no source is of. It reports whether
// nothing was known of the page.
func (l *indexHints) keepUnmatched(key crawl.PageKey, says pageHint) (isNew bool) {
	u, known := l.unmatched[key]
	if !known && len(l.unmatched) >= mostUnmatched {
		return false
	}
	l.keepNamed(key)
	note := hintNote{says.slot, says.id, says.dated}
	switch {
	case u[0].id == 0 || u[0].slot == says.slot:
		u[0] = note
	default:
		u[1] = note
	}
	l.unmatched[key] = u
	return !known
}

// dropUnmatched forgets what an index said of a page that no source is of.
func (l *indexHints) dropUnmatched(key crawl.PageKey, index freshet.Slot) {
	u, known := l.unmatched[key]
	if !known {
		return
	}
	l.keepNamed(key)
	kept := unmatchedHints{}
	n := 0
	for _, note := range u {
		if note.id != 0 && note.slot != index {
			kept[n] = note
			n++
		}
	}
	if n == 0 {
		delete(l.unmatched, key)
		return
	}
	l.unmatched[key] = kept
}

// matchAll makes the pages known by their keys, once there is an index.
func (l *indexHints) matchAll() {
	if l.keys != nil {
		return
	}
	l.keys, l.unmatched = make(map[crawl.PageKey]freshet.Slot, l.pages.Len()), map[crawl.PageKey]unmatchedHints{}
	if l.unclaimed == nil {
		l.unclaimed = map[crawl.PageKey]evidence.ChangeFreq{}
	}
	for slot, p := range l.pages.All {
		if p.site != nil {
			l.match(slot)
		}
	}
}

// match makes a page known by its key, and tells it what was said of it before.
func (l *indexHints) match(slot freshet.Slot) {
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
	notes, said := l.unmatched[key]
	if !said {
		return
	}
	l.keepNamed(key)
	delete(l.unmatched, key)
	for _, note := range notes {
		in := l.indexAt(note.slot)
		if note.id == 0 || in == nil || in.id != note.id || note.slot == slot {
			continue
		}
		l.add(slot, pageHint{slot: note.slot, id: note.id, dated: note.dated, told: in.read}, false)
	}
}

// unmatch forgets a page by its key, and keeps what was said of it.
func (l *indexHints) unmatch(slot freshet.Slot) {
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
	if claim := l.pages.At(slot).claim; claim != 0 && !others && len(l.unclaimed) < mostUnmatched {
		l.unclaimed[key] = claim
	}
	l.pages.At(slot).claim = 0
	if int(slot) >= len(l.hints) {
		return
	}
	for _, v := range l.hints[slot] {
		if !l.isCurrent(&v) {
			continue
		}
		l.keep(v.slot)
		in := l.indexes[v.slot]
		in.waiting = slices.DeleteFunc(in.waiting, func(u untold) bool { return u.slot == slot })
		if !others {
			l.keepUnmatched(key, v)
		}
	}
	l.hints[slot] = nil
}

// setKey notes the key of a source.
func (l *indexHints) setKey(slot freshet.Slot, url string) {
	var key crawl.PageKey // 0 means none
	if url != "" {
		key = crawl.PageKeyOf(url)
	}
	for int(slot) >= len(l.keyOf) {
		l.keyOf = append(l.keyOf, 0)
	}
	if l.keyOf[slot] == key {
		return
	}
	l.unmatch(slot)
	l.keyOf[slot] = key
	l.match(slot)
}
