package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A noteCopy is a copy of what was learnt, up to a place in the log. Without a
// name there is none, and the log is gone through from there.
type noteCopy struct {
	name  string
	upto  freshet.Cursor
	slots int                               // in which sources lay; 0 if it does not say
	seats map[freshet.SourceID]freshet.Slot // of them
}

// copies returns the copies in the store that are whole and of this log, the
// newest first.
func (b *brain) copies(ctx context.Context, end freshet.Cursor) (whole []noteCopy, err error) {
	if b.learner == nil {
		return nil, nil
	}
	for i, name := range noteCopies {
		c, err := b.examine(ctx, name)
		switch {
		case errors.Is(err, errBrokenSeal):
			b.log.Warn("a saved learning state cannot be read", "copy", name, "err", err)
		case err != nil:
			return nil, err
		case c.upto > end:
			b.log.Warn("a saved learning state belongs to other data", "copy", name, "upto", c.upto, "end", end)
		case c.upto > 0:
			whole = append(whole, c)
			if c.upto > b.notes.upto {
				b.notes = notes{upto: c.upto, next: 1 - i}
			}
		}
	}
	slices.SortFunc(whole, func(a, b noteCopy) int { return cmp.Compare(b.upto, a.upto) })
	for i := range whole[min(1, len(whole)):] { // it is hardly ever needed, and takes memory
		whole[i+1].seats = nil
	}
	return whole, nil
}

// examine looks whether a copy is whole. It is at 0 if not, or if there is none.
func (b *brain) examine(ctx context.Context, name string) (noteCopy, error) {
	c := noteCopy{name: name}
	for belief, err := range b.store.Beliefs(ctx, name) {
		if err != nil {
			return c, err
		}
		memory, err := unsealed(belief.Memory)
		if err != nil {
			return c, fmt.Errorf("belief about %q: %w", belief.Source, err)
		}
		if belief.Source == "" {
			c.upto, c.seats = belief.Upto, map[freshet.SourceID]freshet.Slot{}
			c.slots, _ = learn.SlotsOf(memory)
		}
		if belief.Upto > c.upto { // the writing of it was cut off
			return noteCopy{name: name}, nil
		}
		if seat, ok := learn.SeatOf(memory); ok && int(seat) < c.slots && belief.Source != "" && belief.Upto == c.upto {
			c.seats[belief.Source] = seat
		}
	}
	return c, nil
}

// seat keeps for sources that are about to be put the slots in which they lay when a copy was made. If most
// of those are empty now, a start is when to move together.
func (b *brain) seat(ctx context.Context, c noteCopy) (err error) {
	if c.slots > 0 && c.seats == nil {
		c, err = b.examine(ctx, c.name)
	}
	if err != nil || b.learner == nil || len(c.seats) == 0 || !b.asSaved && c.slots > 2*len(c.seats)+spareSeats {
		return err
	}
	b.sched.Reserve(c.slots, c.seats)
	b.learner.MakeRoom(c.slots)
	return nil
}

// spareSeats are how many slots may always be empty.
const spareSeats = 1024

// takeUp brings the learner to what it thought when a copy was made. The sources
// have been put; those of which the copy says nothing are put again. If there are none, and all lie where
// they did, it returns which copy that was.
func (b *brain) takeUp(ctx context.Context, c noteCopy, put func(freshet.Watched)) (from Basis, err error) {
	if c.name == "" {
		return from, nil
	}
	known := make([]bool, b.sched.Slots())
	n, seated, sum := 0, c.slots == 0 || c.slots == b.sched.Slots(), uint64(0)
	for belief, err := range b.store.Beliefs(ctx, c.name) {
		if err != nil {
			return from, err
		}
		slot, ok := b.sched.Slot(belief.Source)
		switch {
		case belief.Source == "" && belief.Upto != c.upto:
			return from, errors.New("what was saved is being saved anew; it is read again in a moment")
		case belief.Source == "":
			slot = -1
		case !ok || belief.Upto != c.upto: // it was away when the copy was made
			continue
		}
		memory, err := unsealed(belief.Memory)
		if err == nil {
			err = b.learner.Restore(slot, memory)
		}
		if err != nil {
			return from, fmt.Errorf("belief about %q: %w", belief.Source, err)
		}
		if sum += sumOf(belief.Source, belief.Memory); slot >= 0 {
			seat, _ := learn.SeatOf(memory)
			known[slot], n, seated = true, n+1, seated && (c.slots == 0 || seat == slot)
		}
	}
	if n == b.sched.Len() && seated {
		return Basis{c.upto, sum}, nil
	}
	for w, err := range b.store.Sources(ctx) {
		if err != nil {
			return from, err
		}
		if slot, ok := b.sched.Slot(w.ID); !ok || !known[slot] {
			put(w)
		}
	}
	return from, nil
}
