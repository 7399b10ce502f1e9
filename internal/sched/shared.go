package sched

import (
	"cmp"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// Sources that watch the same document, each with a recipe of its own, are polled by
// one request, a shared fetch. Until it is over all of them are busy: otherwise one could
// be fetched twice at once, and the older of two answers be taken for the newer. A shared
// fetch costs the others nothing of the budget, the host or the workers.

// addToDocument puts a source among those with its URL.
func (t *sourceTable) addToDocument(slot freshet.Slot) {
	url := t.entries.At(slot).source.URL
	if url == "" {
		return
	}
	at, ok := t.docs.get(url)
	if !ok {
		t.docs.put(url, slot)
		return
	}
	t.entries.At(slot).nextShared, t.entries.At(at).nextShared = t.entries.At(at).nextShared, slot
}

// removeFromDocument takes a source from those with its URL.
func (t *sourceTable) removeFromDocument(slot freshet.Slot) {
	e := t.entries.At(slot)
	if e.source.URL == "" {
		return
	}
	if e.nextShared == slot {
		t.docs.drop(e.source.URL)
		return
	}
	before := e.nextShared
	for t.entries.At(before).nextShared != slot {
		before = t.entries.At(before).nextShared
	}
	t.docs.put(e.source.URL, before)
	t.entries.At(before).nextShared, e.nextShared = e.nextShared, slot
}

// sharing yields the other sources that watch the document of one.
func (t *sourceTable) sharing(slot freshet.Slot, yield func(freshet.Slot, *entry)) {
	first := t.entries.At(slot)
	for at := first.nextShared; at != slot; at = t.entries.At(at).nextShared {
		if e := t.entries.At(at); !e.gone && first.sameDocument(e) {
			yield(at, e)
		}
	}
}

// sameDocument reports whether two sources bring the same response.
func (e *entry) sameDocument(o *entry) bool {
	a, b := e.source.whole(), o.source.whole()
	return b.SameDocument(&a)
}

// Mates returns the other sources that are polled together with one because they watch
// the same document, in the order of their IDs. One that is paused is polled with none.
func (t *sourceTable) Mates(id freshet.SourceID) (ids []freshet.SourceID) {
	if slot, ok := t.Slot(id); ok && !t.entries.At(slot).source.Paused {
		t.sharing(slot, func(_ freshet.Slot, e *entry) {
			if !e.source.Paused {
				ids = append(ids, e.source.ID)
			}
		})
	}
	slices.Sort(ids)
	return ids
}

// beginShared begins the shared fetch of all sources that can be read from the poll of one
// which begins now, in the order of their IDs. One whose MinGap has not passed is not read.
// One that failed waits, unless the polled one did too: then the document is probably at
// fault.
func (t *sourceTable) beginShared(now time.Time, slot freshet.Slot) (all []freshet.Companion) {
	troubled := t.entries.At(slot).failures > 0
	t.sharing(slot, func(_ freshet.Slot, e *entry) {
		cause := freshet.ByPolicy
		if e.asked || troubled && !e.source.Paused {
			cause = freshet.ByHand
		}
		if !e.open(now, cause) || !e.asked && !e.source.hours.isOpen(now) {
			return
		}
		e.busy, e.shared = true, true
		e.flight = &flight{asked: e.asked, hurry: e.hurry}
		if e.asked {
			e.asked, e.hurry = false, false
		}
		all = append(all, freshet.Companion{Source: e.source.whole(), Since: e.seen.time()})
	})
	slices.SortFunc(all, func(a, b freshet.Companion) int { return cmp.Compare(a.Source.ID, b.Source.ID) })
	return all
}

// endShared ends the shared fetch of a source.
func (e *entry) endShared() { e.busy, e.shared, e.flight = false, false, nil }

// abandonShared ends the shared fetch of a source that was not read. A poll of it that was
// requested before is requested again.
func (s *Scheduler) abandonShared(slot freshet.Slot) {
	e := s.entries.At(slot)
	was := *e.flight
	e.endShared()
	if was.asked && !e.gone {
		s.Ask(e.source.ID)
		e.hurry = e.hurry || was.hurry
	}
}
