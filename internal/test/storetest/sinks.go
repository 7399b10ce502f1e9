package storetest

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// owes returns a bench with five changes, all owed to reader r.
func owes(b *bench) []freshet.Change {
	b.add("a")
	changes := b.history("a", 6)
	b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[4]), messages(changes)))
	return changes
}

func entries(changes []freshet.Change) (at []sinks.Position) {
	for _, c := range changes {
		at = append(at, sinks.PositionOf(c))
	}
	return at
}

// messages returns what is owed of changes.
func messages(changes []freshet.Change) (owed []sinks.NewDelivery) {
	for _, c := range changes {
		owed = append(owed, sinks.NewDelivery{Cursor: c.Cursor, Body: []byte("of " + c.ID())})
	}
	return owed
}

// debts returns the changes that reader r owes at a moment.
func (b *bench) debts(now time.Time, limit int) ([]sinks.PendingDelivery, time.Time) {
	b.Helper()
	due, next, err := b.DueDeliveries(b.Context(), "r", now, limit)
	b.ok("debts", err)
	return due, next
}

func owed(due []sinks.PendingDelivery) (changes []freshet.Change) {
	for _, d := range due {
		changes = append(changes, d.Change)
	}
	return changes
}

var outboxTests = []test{
	{"a reader that has not begun has no place and owes nothing", func(b *bench) {
		_, err := b.Place(b.Context(), "r")
		b.is("the place", err, freshet.ErrNotFound)
		due, next := b.debts(noon, 10)
		if len(due) != 0 || !next.IsZero() {
			b.Errorf("it owes %v, next %v", due, next)
		}
	}},
	{"a reader owes what it has passed, in order", func(b *bench) {
		changes := owes(b)
		b.ok("another reader", b.Advance(b.Context(), "other", sinks.PositionOf(changes[0]), messages(changes[:1])))
		b.reopen()
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, sinks.PositionOf(changes[4]))
		due, next := b.debts(minute(60), 100)
		same(b, "the debts", owed(due), changes)
		same(b, "the next after them", next, time.Time{})
		for _, d := range due {
			if d.Attempts != 0 || d.Due.IsZero() || d.Due.After(minute(60)) || d.Err != "" || string(d.Body) != "of "+d.Change.ID() {
				b.Errorf("a fresh debt is %+v", d)
			}
		}
		due, next = b.debts(minute(60), 2)
		same(b, "the first two debts", owed(due), changes[:2])
		if next.IsZero() || next.After(minute(60)) {
			b.Errorf("the next after them is due at %v, want now or before", next)
		}
		open, dead, err := b.CountDeliveries(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{5, 0})
	}},
	{"many debts come with their changes", func(b *bench) {
		b.add("a")
		changes := b.history("a", 41)
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[39]), messages(changes)))
		for _, n := range []int{1, 2, 15, 16, 17, 33, 40} {
			due, _ := b.debts(minute(600), n)
			same(b, "the debts", owed(due), changes[:n])
			for _, d := range due {
				same(b, "the source", d.Source, freshet.SourceID("a"))
			}
		}
	}},
	{"a reader begins with its first advance, at zero too", func(b *bench) {
		b.ok("advance", b.Advance(b.Context(), "r", sinks.Position{Cursor: 0}, nil))
		b.reopen()
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, sinks.Position{Cursor: 0})
		_, err = b.Place(b.Context(), "other")
		b.is("the place of another", err, freshet.ErrNotFound)
	}},
	{"a reader may advance without owing", func(b *bench) {
		b.ok("advance", b.Advance(b.Context(), "r", sinks.Position{Cursor: 17}, nil))
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, sinks.Position{Cursor: 17})
	}},
	{"a settled debt is gone", func(b *bench) {
		changes := owes(b)
		b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(changes[0]), sinks.PositionOf(changes[3]), sinks.Position{Cursor: 9999}))
		b.ok("settle nothing", b.Settle(b.Context(), "r"))
		b.reopen()
		due, _ := b.debts(minute(60), 100)
		same(b, "the debts", owed(due), []freshet.Change{changes[1], changes[2], changes[4]})
	}},
	{"a postponed debt comes back when it is due", func(b *bench) {
		changes := owes(b)
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 3, Due: minute(90), Err: "refused"}))
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[1], Attempts: 1, Due: minute(80), Err: "down"}))
		b.reopen()
		due, next := b.debts(minute(60), 100)
		same(b, "the debts before", owed(due), changes[2:])
		same(b, "the next after them", next, minute(80))
		b.ok("settle", b.Settle(b.Context(), "r", entries(changes[2:])...))
		due, next = b.debts(minute(90), 100)
		same(b, "the debts at last", due, []sinks.PendingDelivery{
			{Change: changes[1], Source: "a", Body: messages(changes)[1].Body, Attempts: 1, Due: minute(80), Err: "down"},
			{Change: changes[0], Source: "a", Body: messages(changes)[0].Body, Attempts: 3, Due: minute(90), Err: "refused"},
		})
		same(b, "the next after them", next, time.Time{})
		_, next = b.debts(minute(90), 1)
		same(b, "the next after the first", next, minute(90))
	}},
	{"postponed debts move together", func(b *bench) {
		changes := owes(b)
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 3, Due: minute(90), Err: "refused"}))
		b.ok("give up", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[1], Attempts: 9, Err: "gone"}))
		for _, step := range []struct{ by, due int }{{1e6, 1e6 + 90}, {-1e6 - 20, 70}} {
			b.ok("move", b.ShiftDue(b.Context(), "r", time.Duration(step.by)*time.Minute))
			b.ok("move those of another", b.ShiftDue(b.Context(), "other", time.Hour))
			b.reopen()
			due, next := b.debts(minute(60), 100)
			same(b, "those that are due at once", owed(due), changes[2:])
			same(b, "the next after them", next, minute(step.due))
		}
	}},
	{"a debt given up stays on record", func(b *bench) {
		changes := owes(b)
		b.ok("give up", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 9, Err: "gone"}))
		due, _ := b.debts(minute(1e6), 100)
		same(b, "the debts", owed(due), changes[1:])
		open, dead, err := b.CountDeliveries(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{4, 1})
	}},
	{"moving back owes again", func(b *bench) {
		changes := owes(b)
		b.ok("settle", b.Settle(b.Context(), "r", entries(changes[:2])...))
		b.ok("give up", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[2], Attempts: 9, Err: "gone"}))
		b.ok("move back", b.Advance(b.Context(), "r", sinks.Position{Cursor: changes[0].Cursor - 1}, nil))
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, sinks.Position{Cursor: changes[0].Cursor - 1})
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[2]), messages(changes[:3])))
		due, _ := b.debts(minute(60), 100)
		same(b, "the debts up to there", owed(due), changes[:3])
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[4]), nil))
		due, _ = b.debts(minute(60), 100)
		same(b, "the debts", owed(due), changes)
		for _, d := range due[:3] {
			if d.Attempts != 0 || d.Err != "" {
				b.Errorf("a debt that is owed again remembers what became of the first: %+v", d)
			}
		}
	}},
	{"each reader settles and puts off its own debts", func(b *bench) {
		changes := owes(b)
		b.ok("another reader", b.Advance(b.Context(), "other", sinks.PositionOf(changes[4]), messages(changes)))
		b.ok("settle", b.Settle(b.Context(), "other", sinks.PositionOf(changes[0])))
		b.ok("postpone", b.Postpone(b.Context(), "other", sinks.PendingDelivery{Change: changes[1], Attempts: 1, Due: minute(90)}))
		due, next := b.debts(minute(60), 100)
		same(b, "the debts of the first", owed(due), changes)
		same(b, "the next after them", next, time.Time{})
		open, dead, err := b.CountDeliveries(b.Context(), "other")
		b.ok("owed", err)
		same(b, "the counts of the other", [2]int{open, dead}, [2]int{4, 0})
	}},
	{"to put off a debt that has been settled owes nothing", func(b *bench) {
		changes := owes(b)
		b.ok("settle", b.Settle(b.Context(), "r", entries(changes)...))
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 1, Due: minute(1)}))
		open, dead, err := b.CountDeliveries(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{0, 0})
	}},
	{"a purge takes what is owed of a source with it", func(b *bench) {
		changes := owes(b)
		b.add("b")
		other := b.history("b", 2)
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(other[0]), messages(other)))
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		due, _ := b.debts(minute(60), 100)
		same(b, "the debts", owed(due), other)
		b.ok("owe what was purged", b.Advance(b.Context(), "r", sinks.PositionOf(other[0]), messages(changes)))
		due, _ = b.debts(minute(60), 100)
		same(b, "the debts", owed(due), other)
	}},
	{"a retired endpoint gives up what its reader owes", func(b *bench) {
		changes := owes(b)
		b.ok("another reader", b.Advance(b.Context(), "other", sinks.PositionOf(changes[0]), messages(changes[:1])))
		b.ok("give up", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 9, Err: "at last"}))
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[1], Attempts: 2, Due: minute(1e6)}))
		one, two := sinks.EndpointAt("https://one.example/"), sinks.EndpointAt("https://two.example/")
		for range 2 { // the second time changes nothing
			b.ok("retire", b.Retire(b.Context(), "r", one, "gone"))
		}
		b.reopen()
		for _, tt := range []struct {
			reader   string
			endpoint sinks.EndpointID
			want     bool
		}{{"r", one, true}, {"r", two, false}, {"other", one, false}} {
			got, err := b.Retired(b.Context(), tt.reader, tt.endpoint)
			b.ok("retired", err)
			same(b, "whether the endpoint of "+tt.reader+" is retired", got, tt.want)
		}
		if due, next := b.debts(minute(1e7), 100); len(due) != 0 || !next.IsZero() {
			b.Errorf("the reader still owes %v, next %v", due, next)
		}
		counts := map[string][2]int{"r": {0, 5}, "other": {1, 0}}
		for reader, want := range counts {
			open, dead, err := b.CountDeliveries(b.Context(), reader)
			b.ok("owed", err)
			same(b, "the counts of "+reader, [2]int{open, dead}, want)
		}
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, sinks.PositionOf(changes[4]))
	}},
	{"what is owed to a retired reader anew is open", func(b *bench) {
		changes := owes(b)
		b.ok("retire", b.Retire(b.Context(), "r", "e", "gone"))
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[4]), messages(changes[3:])))
		due, _ := b.debts(minute(60), 100)
		same(b, "the debts", owed(due), changes[3:])
	}},
}

// inOrder returns messages that keep the order of their source.
func inOrder(changes []freshet.Change) (owed []sinks.NewDelivery) {
	for _, m := range messages(changes) {
		m.InOrder = true
		owed = append(owed, m)
	}
	return owed
}

// lineTests are of debts that wait for each other, and of those that were given up.
var lineTests = []test{
	{"what is owed in order is due one by one for each source", func(b *bench) {
		b.add("a")
		b.add("b")
		first, second := b.history("a", 4), b.history("b", 3)
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(second[1]), append(inOrder(first), inOrder(second)...)))
		b.reopen()
		heads := func(what string, want ...freshet.Change) {
			b.Helper()
			due, next := b.debts(minute(1e6), 100)
			same(b, what, owed(due), want)
			same(b, "the next after them", next, time.Time{})
		}
		heads("the first of both", first[0], second[0])
		b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(first[0])))
		heads("after one of them", first[1], second[0])
		b.ok("give up", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: first[1], Attempts: 9, Err: "refused"}))
		heads("after one was given up", first[2], second[0])
		b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(first[2]), sinks.PositionOf(second[0]), sinks.PositionOf(second[1])))
		heads("when all but one are settled")
		open, dead, err := b.CountDeliveries(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{0, 1})
	}},
	{"a debt put off holds up those behind it", func(b *bench) {
		b.add("a")
		changes := b.history("a", 4)
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[2]), inOrder(changes)))
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 1, Due: minute(90), Err: "down"}))
		due, next := b.debts(minute(60), 100)
		if len(due) > 0 {
			b.Errorf("%v are due before the first", owed(due))
		}
		same(b, "the next", next, minute(90))
	}},
	{"moving back owes again in order", func(b *bench) {
		b.add("a")
		changes := b.history("a", 4)
		for range 2 {
			b.ok("move back", b.Advance(b.Context(), "r", sinks.Position{Cursor: 0}, nil))
			b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[2]), inOrder(changes)))
			for i, c := range changes {
				due, _ := b.debts(minute(1e6), 100)
				same(b, "what is due", owed(due), changes[i:i+1])
				if i == 1 {
					break // and back again, with two left
				}
				b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(c)))
			}
		}
	}},
	{"letters are what was given up, and can be owed again", func(b *bench) {
		b.add("a")
		changes := b.history("a", 5)
		messages := inOrder(changes)
		messages[1].Body, messages[1].Err = nil, "the template fails"
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(changes[3]), messages))
		b.ok("give up", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 9, Err: "refused"}))
		b.reopen()
		letters, err := b.DeadLetters(b.Context(), "r", sinks.Position{}, 10)
		b.ok("letters", err)
		same(b, "the letters", letters, []sinks.PendingDelivery{
			{Change: changes[0], Source: "a", Body: messages[0].Body, Attempts: 9, Err: "refused"}, {Change: changes[1], Source: "a", Err: "the template fails"},
		})
		letters, err = b.DeadLetters(b.Context(), "r", sinks.PositionOf(changes[0]), 10)
		b.ok("letters", err)
		same(b, "the letters after the first", owed(letters), changes[1:2])
		if letters, err = b.DeadLetters(b.Context(), "other", sinks.Position{}, 10); err != nil || len(letters) > 0 {
			b.Errorf("another reader has letters %v, %v", letters, err)
		}
		n, err := b.Revive(b.Context(), "r", sinks.PositionOf(changes[1]), sinks.PositionOf(changes[2]))
		b.ok("revive one", err)
		same(b, "revived", n, 1)
		due, _ := b.debts(minute(60), 100)
		same(b, "the revived one before the later one", owed(due), changes[1:2])
		n, err = b.Revive(b.Context(), "r")
		b.ok("revive all", err)
		same(b, "revived", n, 1)
		open, dead, err := b.CountDeliveries(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{4, 0})
		for i, c := range changes {
			due, _ := b.debts(minute(60), 100)
			same(b, "what is due", owed(due), changes[i:i+1])
			b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(c)))
		}
	}},
	{"what is owed after the place waits for what is owed again", func(b *bench) {
		b.add("a")
		b.add("b")
		first, second := b.history("a", 4), b.history("b", 2)
		end := sinks.PositionOf(second[0])
		all := append(inOrder(first), inOrder(second)...)
		b.ok("advance", b.Advance(b.Context(), "r", end, all))
		b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(first[0]), sinks.PositionOf(first[1])))
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: first[2], Attempts: 1, Due: minute(70), Err: "cut off"}))
		b.ok("move back", b.Advance(b.Context(), "r", sinks.Position{}, nil))
		b.reopen()
		if due, next := b.debts(minute(1e6), 100); len(due) > 0 || !next.IsZero() {
			b.Errorf("before the first is owed again %v are due, then %v", owed(due), next)
		}
		due := func(what string, want ...freshet.Change) {
			b.Helper()
			got, _ := b.debts(minute(1e6), 100)
			same(b, what, owed(got), want)
		}
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(first[0]), all[:1]))
		due("after the first step", first[0])
		b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(first[0])))
		due("when that is settled")
		other := inOrder(first)
		other[2].Body = []byte("in other words")
		b.ok("advance", b.Advance(b.Context(), "r", sinks.PositionOf(first[2]), other[1:3]))
		due("after the second step", first[1])
		b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(first[1])))
		got, _ := b.debts(minute(1e6), 100)
		if len(got) != 1 || got[0].Change.ID() != first[2].ID() || got[0].Attempts != 0 || string(got[0].Body) != string(all[2].Body) {
			b.Errorf("what was owed all along is now %+v, want it with the words from before", got)
		}
		b.ok("advance without owing it again", b.Advance(b.Context(), "r", end, nil))
		due("past the end", first[2], second[0])
	}},
	{"what is owed of another stream does not wait for the place", func(b *bench) {
		changes := owes(b)
		batches, owed := b.batches()
		b.ok("advance", b.Advance(b.Context(), "r", batchAt(batches[2]), owed))
		b.ok("move back", b.Advance(b.Context(), "r", sinks.Position{Stream: sinks.StreamBatches}, nil))
		due, _ := b.debts(minute(1e6), 100)
		if len(due) != len(changes) || due[0].Change.ID() != changes[0].ID() {
			b.Errorf("before the first batch is owed again %+v are due", due)
		}
		b.ok("move back on the other", b.Advance(b.Context(), "r", sinks.Position{}, nil))
		due, _ = b.debts(minute(1e6), 100)
		if len(due) != 2 || due[0].ID() != batches[0].ID() || due[1].ID() != batches[1].ID() {
			b.Errorf("before the first change is owed again %+v are due", due)
		}
	}},
}

// batches returns three batches of two queries, and what a reader owes of them.
func (b *bench) batches() (batches []queries.Batch, owed []sinks.NewDelivery) {
	b.Helper()
	b.query("p")
	b.query("q")
	b.run("p", "p", "q", "p")
	b.step(queries.Step{Batches: []queries.Batch{
		{Query: "p", Name: "Query p", From: 1, To: 2, Delay: queries.DelayDigest, At: noon}, {Query: "q", Name: "Query q", From: 1, To: 1, At: noon}, {Query: "p", From: 3, To: 3, At: noon},
	}})
	batches, err := b.Batches(b.Context(), queries.MatchQuery{})
	b.ok("batches", err)
	for _, p := range batches {
		owed = append(owed, sinks.NewDelivery{Cursor: p.Cursor, Event: p.ID(), Source: "a", Body: []byte("of " + p.ID()), InOrder: true})
	}
	return batches, owed
}

// batchTests are of what is owed of queries.
var batchTests = []test{
	{"batches are owed in the order of their query, beside changes", func(b *bench) {
		changes := owes(b)
		batches, owed := b.batches()
		end := sinks.Position{Stream: sinks.StreamBatches, Cursor: 3}
		b.ok("advance", b.Advance(b.Context(), "r", end, owed))
		b.reopen()
		place, err := b.Place(b.Context(), "r")
		b.ok("place", err)
		same(b, "the place", place, end)
		due, _ := b.debts(minute(1e6), 100)
		same(b, "the debts", len(due), 7)
		for i, c := range changes {
			same(b, "a change", due[i].Change, c)
		}
		for i, p := range batches[:2] {
			same(b, "a batch", due[5+i], sinks.PendingDelivery{Batch: p, Event: p.ID(), Source: "a", Body: owed[i].Body, Due: noon})
		}
		b.ok("settle", b.Settle(b.Context(), "r", append(entries(changes), batchAt(batches[0]), batchAt(batches[1]))...))
		due, _ = b.debts(minute(1e6), 100)
		if len(due) != 1 || due[0].ID() != batches[2].ID() || due[0].Position() != batchAt(batches[2]) {
			b.Errorf("after the first of the query %+v are due", due)
		}
	}},
	{"what a query told is owed after it was removed", func(b *bench) {
		batches, owed := b.batches()
		owed[2].Body, owed[2].Err = nil, "the template fails"
		b.ok("advance", b.Advance(b.Context(), "r", batchAt(batches[2]), owed))
		b.ok("remove", b.RemoveQuery(b.Context(), "p"))
		b.reopen()
		due, _ := b.debts(minute(1e6), 100)
		if len(due) != 2 || due[0].ID() != owed[0].Event || string(due[0].Body) != string(owed[0].Body) || due[0].Batch.Query != "p" || due[0].Position() != batchAt(batches[0]) {
			b.Errorf("after its query was removed, what is owed is %+v", due)
		}
		b.ok("postpone", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Batch: due[0].Batch, Attempts: 10, Err: "refused"}))
		letters, err := b.DeadLetters(b.Context(), "r", sinks.Position{}, 10)
		b.ok("letters", err)
		if len(letters) != 2 || letters[0].Err != "refused" || letters[1].ID() != owed[2].Event || letters[1].Err != "the template fails" {
			b.Errorf("the letters are %+v", letters)
		}
		letters, err = b.DeadLetters(b.Context(), "r", letters[0].Position(), 10)
		b.ok("letters", err)
		same(b, "the letters after the first", len(letters), 1)
		n, err := b.Revive(b.Context(), "r", letters[0].Position())
		b.ok("revive", err)
		same(b, "revived", n, 1)
		b.ok("owe what was removed", b.Advance(b.Context(), "other", batchAt(batches[2]), owed[:1]))
		open, dead, err := b.CountDeliveries(b.Context(), "other")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{0, 0})
	}},
}

// account returns how it stands with a reader.
func (b *bench) account(reader string) sinks.ReaderStatus {
	b.Helper()
	found, err := b.ReaderStatuses(b.Context(), reader)
	b.ok("accounts", err)
	if len(found) != 1 {
		b.Fatalf("there are %d accounts of %s", len(found), reader)
	}
	return found[0]
}

// accountTests are of how it stands with all readers.
var accountTests = []test{
	{"accounts say of every reader what is on record", func(b *bench) {
		none, err := b.ReaderStatuses(b.Context(), "")
		b.ok("accounts", err)
		same(b, "the accounts of a new store", len(none), 0)
		changes := owes(b)
		b.ok("give up", b.Postpone(b.Context(), "r", sinks.PendingDelivery{Change: changes[0], Attempts: 9, Err: "refused"}))
		b.ok("settle", b.Settle(b.Context(), "r", sinks.PositionOf(changes[1])))
		batches, owed := b.batches()
		b.ok("one that follows queries", b.Advance(b.Context(), "p", batchAt(batches[1]), owed[:2]))
		b.ok("one that went on with queries", b.Advance(b.Context(), "both", sinks.PositionOf(changes[2]), messages(changes[:3])))
		b.ok("one that went on with queries", b.Advance(b.Context(), "both", batchAt(batches[2]), owed[2:]))
		b.ok("one at the beginning", b.Advance(b.Context(), "new", sinks.Position{}, nil))
		b.ok("retire", b.Retire(b.Context(), "p", "e2", "gone"))
		b.ok("retire", b.Retire(b.Context(), "p", "e1", "gone"))
		b.ok("retire one that has not begun", b.Retire(b.Context(), "old", "e", "gone"))
		b.reopen()
		want := []sinks.ReaderStatus{
			{Reader: "both", Begun: true, At: batchAt(batches[2]), Place: batches[2].End, Pending: 4},
			{Reader: "new", Begun: true},
			{Reader: "old", Retired: []sinks.EndpointID{"e"}},
			{Reader: "p", Begun: true, At: batchAt(batches[1]), Place: batches[1].End, Dead: 2, Retired: []sinks.EndpointID{"e1", "e2"}},
			{Reader: "r", Begun: true, At: sinks.PositionOf(changes[4]), Place: changes[4].Place(), Pending: 3, Dead: 1},
		}
		got, err := b.ReaderStatuses(b.Context(), "")
		b.ok("accounts", err)
		same(b, "the accounts", got, want)
		for _, a := range want {
			same(b, "the account of "+a.Reader, b.account(a.Reader), a)
		}
		none, err = b.ReaderStatuses(b.Context(), "nobody")
		b.ok("accounts", err)
		same(b, "those of nobody", len(none), 0)
	}},
	{"a reader of queries stands at the last batch that is kept", func(b *bench) {
		batches, owed := b.batches()
		b.ok("advance", b.Advance(b.Context(), "r", batchAt(batches[2]), owed))
		for _, step := range []struct {
			remove queries.ID
			want   freshet.Place
		}{{"p", batches[1].End}, {"q", freshet.Place{}}} {
			b.ok("remove", b.RemoveQuery(b.Context(), step.remove))
			got := b.account("r")
			same(b, "the place after "+string(step.remove)+" was removed", got.Place, step.want)
			same(b, "the entry", got.At, batchAt(batches[2]))
			same(b, "what is owed", got.Pending, 3)
		}
	}},
}

// sinkTests are of the sinks that a store keeps.
var sinkTests = []test{
	{"a sink is kept with its revision and its condition", func(b *bench) {
		got, err := b.Sinks(b.Context())
		b.ok("sinks", err)
		same(b, "the sinks of a new store", len(got), 0)
		for want := range int64(2) {
			revision, err := b.PutSink(b.Context(), "chat", []byte("sealed"), want)
			b.ok("put", err)
			same(b, "the revision", revision, want+1)
		}
		down := sinks.Condition{Failing: minute(1), Held: minute(2), Err: "down"}
		b.ok("note", b.SetCondition(b.Context(), "chat", down))
		b.ok("note one of the file", b.SetCondition(b.Context(), "a", sinks.Condition{Failing: minute(3), Err: "slow"}))
		_, err = b.PutSink(b.Context(), "chat", []byte("other"), 1)
		b.is("an edit of an old revision", err, freshet.ErrStale)
		b.reopen()
		got, err = b.Sinks(b.Context())
		b.ok("sinks", err)
		same(b, "the sinks", got, []sinks.Record{
			{Name: "a", Condition: sinks.Condition{Failing: minute(3), Err: "slow"}},
			{Name: "chat", Definition: []byte("sealed"), Revision: 2, Condition: down},
		})
		for _, want := range got {
			one, err := b.Sink(b.Context(), want.Name)
			b.ok("sink", err)
			same(b, "sink "+want.Name, one, want)
		}
		_, err = b.Sink(b.Context(), "other")
		b.is("one that is not there", err, freshet.ErrNotFound)
	}},
	{"with a sink goes all that it is owed", func(b *bench) {
		changes := owes(b)
		_, err := b.PutSink(b.Context(), "r", []byte("x"), 0)
		b.ok("put", err)
		b.ok("another reader", b.Advance(b.Context(), "other", sinks.PositionOf(changes[0]), messages(changes[:1])))
		b.ok("retire", b.Retire(b.Context(), "r", "e", "gone"))
		for range 2 { // the second time changes nothing
			b.ok("remove", b.RemoveSink(b.Context(), "r"))
		}
		_, err = b.Place(b.Context(), "r")
		b.is("the place", err, freshet.ErrNotFound)
		open, dead, err := b.CountDeliveries(b.Context(), "r")
		b.ok("owed", err)
		same(b, "the counts", [2]int{open, dead}, [2]int{0, 0})
		retired, err := b.Retired(b.Context(), "r", "e")
		b.ok("retired", err)
		same(b, "whether it is retired", retired, false)
		open, _, err = b.CountDeliveries(b.Context(), "other")
		b.ok("owed", err)
		same(b, "what the other is owed", open, 1)
	}},
}

// batchAt returns the position of a batch.
func batchAt(b queries.Batch) sinks.Position {
	return sinks.Position{Stream: sinks.StreamBatches, Cursor: b.Cursor}
}
