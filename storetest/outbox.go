package storetest

import (
	"time"

	"freshet"
)

// owes returns a bench with five changes, all owed to reader r.
func owes(b *bench) []freshet.Change {
	b.add("a")
	changes := b.history("a", 6)
	b.ok("advance", b.Advance(b.Context(), "r", changes[4].Cursor, cursors(changes)))
	return changes
}

func cursors(changes []freshet.Change) (at []freshet.Cursor) {
	for _, c := range changes {
		at = append(at, c.Cursor)
	}
	return at
}

// debts returns the changes that reader r owes at a moment.
func (b *bench) debts(now time.Time, limit int) ([]freshet.Debt, time.Time) {
	b.Helper()
	due, next, err := b.Debts(b.Context(), "r", now, limit)
	b.ok("debts", err)
	return due, next
}

func owed(due []freshet.Debt) (changes []freshet.Change) {
	for _, d := range due {
		changes = append(changes, d.Change)
	}
	return changes
}

var outboxTests = []test{
	{"a new reader is at the beginning and owes nothing", func(b *bench) {
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, freshet.Cursor(0))
		due, next := b.debts(noon, 10)
		if len(due) != 0 || !next.IsZero() {
			b.Errorf("it owes %v, next %v", due, next)
		}
	}},
	{"a reader owes what it has passed, in order", func(b *bench) {
		changes := owes(b)
		b.ok("another reader", b.Advance(b.Context(), "other", changes[0].Cursor, cursors(changes[:1])))
		b.reopen()
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, changes[4].Cursor)
		due, next := b.debts(minute(60), 100)
		same(b, "the debts", owed(due), changes)
		same(b, "the next after them", next, time.Time{})
		for _, d := range due {
			if d.Attempts != 0 || d.Due.IsZero() || d.Due.After(minute(60)) || d.Err != "" {
				b.Errorf("a fresh debt is %+v", d)
			}
		}
		due, next = b.debts(minute(60), 2)
		same(b, "the first two debts", owed(due), changes[:2])
		if next.IsZero() || next.After(minute(60)) {
			b.Errorf("the next after them is due at %v, want now or before", next)
		}
		open, dead, err := b.Owed(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{5, 0})
	}},
	{"a reader may advance without owing", func(b *bench) {
		b.ok("advance", b.Advance(b.Context(), "r", 17, nil))
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, freshet.Cursor(17))
	}},
	{"a settled debt is gone", func(b *bench) {
		changes := owes(b)
		b.ok("settle", b.Settle(b.Context(), "r", changes[0].Cursor, changes[3].Cursor, 9999))
		b.ok("settle nothing", b.Settle(b.Context(), "r"))
		b.reopen()
		due, _ := b.debts(minute(60), 100)
		same(b, "the debts", owed(due), []freshet.Change{changes[1], changes[2], changes[4]})
	}},
	{"a postponed debt comes back when it is due", func(b *bench) {
		changes := owes(b)
		b.ok("postpone", b.Postpone(b.Context(), "r", freshet.Debt{Change: changes[0], Attempts: 3, Due: minute(90), Err: "refused"}))
		b.ok("postpone", b.Postpone(b.Context(), "r", freshet.Debt{Change: changes[1], Attempts: 1, Due: minute(80), Err: "down"}))
		b.reopen()
		due, next := b.debts(minute(60), 100)
		same(b, "the debts before", owed(due), changes[2:])
		same(b, "the next after them", next, minute(80))
		b.ok("settle", b.Settle(b.Context(), "r", cursors(changes[2:])...))
		due, next = b.debts(minute(90), 100)
		same(b, "the debts at last", due, []freshet.Debt{
			{Change: changes[1], Attempts: 1, Due: minute(80), Err: "down"},
			{Change: changes[0], Attempts: 3, Due: minute(90), Err: "refused"},
		})
		same(b, "the next after them", next, time.Time{})
		_, next = b.debts(minute(90), 1)
		same(b, "the next after the first", next, minute(90))
	}},
	{"a debt given up stays on record", func(b *bench) {
		changes := owes(b)
		b.ok("give up", b.Postpone(b.Context(), "r", freshet.Debt{Change: changes[0], Attempts: 9, Err: "gone"}))
		due, _ := b.debts(minute(1e6), 100)
		same(b, "the debts", owed(due), changes[1:])
		open, dead, err := b.Owed(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{4, 1})
	}},
	{"moving back owes again", func(b *bench) {
		changes := owes(b)
		b.ok("settle", b.Settle(b.Context(), "r", cursors(changes[:2])...))
		b.ok("give up", b.Postpone(b.Context(), "r", freshet.Debt{Change: changes[2], Attempts: 9, Err: "gone"}))
		b.ok("move back", b.Advance(b.Context(), "r", changes[0].Cursor-1, nil))
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, changes[0].Cursor-1)
		b.ok("advance", b.Advance(b.Context(), "r", changes[2].Cursor, cursors(changes[:3])))
		due, _ := b.debts(minute(60), 100)
		same(b, "the debts", owed(due), changes)
	}},
}
