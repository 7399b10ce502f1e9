package store

import (
	"context"
	"slices"

	"freshet/internal/freshet"
)

// An EditPlace is how far somebody has read which sources were edited.
type EditPlace struct {
	Batch int64 // the transaction of the last of them
	Term  int64 // which process made it, counted from the first that wrote
}

// Edits are the sources that were edited after a place.
type Edits struct {
	IDs   []freshet.SourceID // some more than once, and some gone; an empty one if somebody told when sources changed or may
	Upto  EditPlace
	Whole bool // none is missing between the two places
}

// An EditLog keeps for others which sources are not as they were, other than by polls. All
// of it may be nil: then they have to read everything anew.
type EditLog struct {
	// Note is told of some, within a transaction that writes.
	Note func(w *Writer, ids []freshet.SourceID) error

	// Since returns those after a place; without one only where the log ends.
	Since func(ctx context.Context, q Querier, after *EditPlace) (Edits, error)

	// Last returns the last transaction, whatever it did.
	Last func(ctx context.Context, q Querier) (EditPlace, error)
}

// noteEdits notes which sources the batch edits: all that it changes, but for what begins or
// ends a poll.
func (b *batch) noteEdits() error {
	note := b.store.cfg.Edits.Note
	if note == nil {
		return nil
	}
	var edited []freshet.SourceID
	if b.told {
		edited = append(edited, "")
	}
	for id, e := range b.staged {
		if b.edits(b.store.entries[id], e) {
			edited = append(edited, id)
		}
	}
	if len(edited) == 0 {
		return nil
	}
	slices.Sort(edited)
	return note(b.Writer, slices.Compact(edited))
}

// edits reports whether a source is edited: it is added or gone, its row was written, or it
// differs without a poll having ended.
func (b *batch) edits(old, e *entry) bool {
	if old == nil || e == nil {
		return old != e
	}
	if e.face != nil || e.removed != old.removed {
		return true
	}
	if e.last != old.last {
		return false
	}
	same := *e
	same.begun, same.open, same.opens, same.strays, same.dirty, same.place = old.begun, old.open, old.opens, old.strays, old.dirty, old.place
	same.called, same.heard, same.recent = old.called, old.heard, old.recent
	return same != *old
}
