package sched

import (
	"cmp"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// Sources that watch the same document, each with a recipe of its own, are polled by
// one request: whichever of them is polled takes the others along. Until the poll is
// over they are as busy as if they were polled themselves, or one of them could be seen
// twice at once, and the older of two answers be taken for the newer. It costs them
// nothing of the budget, the host or the workers.

// pair puts a source among those with its URL.
func (s *Scheduler) pair(slot freshet.Slot) {
	url := s.entries.At(slot).source.URL
	if url == "" {
		return
	}
	at, ok := s.docs.get(url)
	if !ok {
		s.docs.put(url, slot)
		return
	}
	s.entries.At(slot).mate, s.entries.At(at).mate = s.entries.At(at).mate, slot
}

// unpair takes a source from those with its URL.
func (s *Scheduler) unpair(slot freshet.Slot) {
	e := s.entries.At(slot)
	if e.source.URL == "" {
		return
	}
	if e.mate == slot {
		s.docs.drop(e.source.URL)
		return
	}
	before := e.mate
	for s.entries.At(before).mate != slot {
		before = s.entries.At(before).mate
	}
	s.docs.put(e.source.URL, before)
	s.entries.At(before).mate, e.mate = e.mate, slot
}

// sumOf returns a hash of a text: FNV-1a.
func sumOf(url string) uint64 {
	sum := uint64(14695981039346656037)
	for i := range len(url) {
		sum = (sum ^ uint64(url[i])) * 1099511628211
	}
	return sum
}

// mates yields the other sources that watch the document of one.
func (s *Scheduler) mates(slot freshet.Slot, yield func(freshet.Slot, *entry)) {
	first := s.entries.At(slot)
	for at := first.mate; at != slot; at = s.entries.At(at).mate {
		if e := s.entries.At(at); !e.gone && first.sameDocument(e) {
			yield(at, e)
		}
	}
}

// sameDocument reports whether two sources bring the same response.
func (e *entry) sameDocument(o *entry) bool {
	a, b := e.source.whole(), o.source.whole()
	return b.SameDocument(&a)
}

// along takes all sources along that can be read from the poll of one which begins
// now, in the order of their IDs. One that keeps its own distance, by a MinGap, is not
// read sooner. One that failed waits, unless the other did too: then it is probably the
// document that is at fault.
func (s *Scheduler) along(now time.Time, slot freshet.Slot) (all []freshet.Companion) {
	troubled := s.entries.At(slot).failures > 0
	s.mates(slot, func(_ freshet.Slot, e *entry) {
		cause := freshet.ByPolicy
		if e.asked || troubled && !e.source.Paused {
			cause = freshet.ByHand
		}
		if !e.open(now, cause) {
			return
		}
		e.busy, e.aboard = true, true
		e.flight = &flight{asked: e.asked, hurry: e.hurry}
		if e.asked {
			e.asked, e.hurry = false, false
		}
		all = append(all, freshet.Companion{Source: e.source.whole(), Since: e.seen.time()})
	})
	slices.SortFunc(all, func(a, b freshet.Companion) int { return cmp.Compare(a.Source.ID, b.Source.ID) })
	return all
}

// disembark ends a poll that a source was read along with.
func (s *Scheduler) disembark(e *entry) { e.busy, e.aboard, e.flight = false, false, nil }

// sendBack ends it for a source that was not read. Who asked for a poll of it still
// wants one.
func (s *Scheduler) sendBack(slot freshet.Slot) {
	e := s.entries.At(slot)
	was := *e.flight
	s.disembark(e)
	if was.asked && !e.gone {
		s.Ask(e.source.ID)
		e.hurry = e.hurry || was.hurry
	}
}

// Mates returns the other sources that are polled together with one because they watch
// the same document, in the order of their IDs. One that is paused is polled with none.
func (s *Scheduler) Mates(id freshet.SourceID) (ids []freshet.SourceID) {
	if slot, ok := s.Slot(id); ok && !s.entries.At(slot).source.Paused {
		s.mates(slot, func(_ freshet.Slot, e *entry) {
			if !e.source.Paused {
				ids = append(ids, e.source.ID)
			}
		})
	}
	slices.Sort(ids)
	return ids
}
