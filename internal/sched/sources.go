package sched

import (
	"iter"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/column"
)

// An entry is one source as the scheduler knows it.
type entry struct {
	source     packed
	host       *host
	upto       freshet.Cursor // the last outcome that what follows rests on
	seen       stamp          // Began of the last poll that saw it
	begun      stamp          // when it was last polled
	notBefore  stamp          // backing off until then
	fresh      stamp          // until when its server says that it stays as it is
	again      stamp          // when a suspect capture wants a second look
	failures   int32
	requests   int32        // that its last poll took: what the next one reserves
	timing     *timing      // by its strategy; nil if it has none
	price      float64      // of a poll, as the learner last received it
	route      *route       // that those went to; nil if all went to its own host
	flight     *flight      // of the poll under way; nil if there is none
	meter      meter        // of its share of the budget
	groups     *groups      // that it belongs to; nil if to none
	shares     *host        // among whose sources it counts; nil if it is not polled
	nextShared freshet.Slot // the next of the sources with its URL, in a ring; itself if it is alone
	belied     bool         // what its server said of how long it stays fresh was wrong once
	busy       bool
	shared     bool // it is busy because another source of its document is polled
	slow       bool // the poll under way is
	gone       bool // removed while a poll of it was under way
	asked      bool
	hurry      bool // the next poll that is asked for need not wait for MinGap
	used       bool
}

// polledAt notes that the source was polled at a time.
func (e *entry) polledAt(at time.Time) { e.begun = max(e.begun, stampOf(at)) }

// open reports whether the source itself may be polled at now. A poll asked
// for by hand need not wait for a back-off, and may look at a paused source.
func (e *entry) open(now time.Time, cause freshet.Cause) bool {
	if !e.used || e.gone || e.busy {
		return false
	}
	if !cause.Wished() && (e.source.Paused || e.notBefore > stampOf(now)) {
		return false
	}
	if cause != freshet.ByHand && !e.source.hours.isOpen(now) {
		return false
	}
	if cause.Wished() && e.hurry {
		return true
	}
	return e.source.MinGap == 0 || e.begun == 0 || !e.begun.time().Add(e.source.MinGap).After(now)
}

// gap returns the least time from one poll of a source to the next that the policy
// wants.
func (e *entry) gap(l *Limits) time.Duration {
	if e.source.MinGap > 0 {
		return e.source.MinGap
	}
	return l.SourceGap
}

// due returns when the source has to be polled: when its MaxGap runs out, or a suspect
// capture wants a second look, within its active hours.
func (e *entry) due() time.Time {
	return e.source.hours.opens(sooner(e.runsOut(), e.again.time()))
}

// runsOut returns when the source's MaxGap runs out.
func (e *entry) runsOut() time.Time {
	if e.source.MaxGap == 0 || e.begun == 0 || e.timing != nil {
		return time.Time{}
	}
	return e.begun.time().Add(e.source.MaxGap)
}

// dueBy returns why a source that is due at now is.
func (e *entry) dueBy(now time.Time) freshet.Cause {
	if at := e.runsOut(); !at.IsZero() && !at.After(now) {
		return freshet.ByBound
	}
	return freshet.ByDoubt
}

// A sourceTable keeps the sources by slots, and finds them by ID and by URL.
type sourceTable struct {
	entries column.Of[freshet.Slot, entry]
	bars    []stamp // by slot: before that the source is not polled, since its host is shut; 0 if that is not known
	free    []freshet.Slot
	ids     *lookup // by ID
	docs    *lookup // by URL, one of the sources that have it
	commons commons // the attributes that sources share
}

func newSourceTable() *sourceTable {
	t := &sourceTable{commons: newCommons()}
	t.ids = newLookup(func(slot freshet.Slot) string { return string(t.entries.At(slot).source.ID) })
	t.docs = newLookup(func(slot freshet.Slot) string { return t.entries.At(slot).source.URL })
	return t
}

// newSlot returns a slot for a new source.
func (t *sourceTable) newSlot() freshet.Slot {
	if n := len(t.free); n > 0 {
		slot := t.free[n-1]
		t.free = t.free[:n-1]
		return slot
	}
	t.bars = append(t.bars, 0)
	return t.entries.Add(entry{})
}

// removeSlot forgets the source in a slot, and gives the slot back.
func (t *sourceTable) removeSlot(slot freshet.Slot) {
	e := t.entries.At(slot)
	t.removeFromDocument(slot)
	t.ids.drop(string(e.source.ID))
	t.commons.drop(e.source)
	*e, t.bars[slot] = entry{}, 0
	t.free = append(t.free, slot)
}

// Slot returns the slot under which the policy knows a source.
func (t *sourceTable) Slot(id freshet.SourceID) (freshet.Slot, bool) {
	slot, ok := t.ids.get(string(id))
	if !ok || t.entries.At(slot).gone {
		return 0, false
	}
	return slot, true
}

// Slots returns a number that is above every slot in use.
func (t *sourceTable) Slots() int { return t.entries.Len() }

// Len returns how many sources there are.
func (t *sourceTable) Len() int { return t.entries.Len() - len(t.free) }

// Source returns the source in a slot, and whether there is one.
func (t *sourceTable) Source(slot freshet.Slot) (freshet.Source, bool) {
	if slot < 0 || int(slot) >= t.entries.Len() || !t.entries.At(slot).used || t.entries.At(slot).gone {
		return freshet.Source{}, false
	}
	return t.entries.At(slot).source.whole(), true
}

// ID returns the ID of the source in a slot, and whether there is one.
func (t *sourceTable) ID(slot freshet.Slot) (freshet.SourceID, bool) {
	if slot < 0 || int(slot) >= t.entries.Len() || !t.entries.At(slot).used || t.entries.At(slot).gone {
		return "", false
	}
	return t.entries.At(slot).source.ID, true
}

// HostName returns the host of the source in a slot.
func (t *sourceTable) HostName(slot freshet.Slot) string { return t.entries.At(slot).host.name }

// Polled reports whether a poll of the source in a slot has ended, whatever came of it.
func (t *sourceTable) Polled(slot freshet.Slot) bool { return t.entries.At(slot).upto != 0 }

// All yields every source with its slot, in no order that means anything.
func (t *sourceTable) All() iter.Seq2[freshet.Slot, freshet.Source] {
	return func(yield func(freshet.Slot, freshet.Source) bool) {
		for slot, e := range t.entries.All {
			if e.used && !e.gone && !yield(slot, e.source.whole()) {
				return
			}
		}
	}
}
