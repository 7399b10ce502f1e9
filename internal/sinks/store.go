package sinks

import (
	"bytes"
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/store"
)

// A Store keeps the sinks that are not in the configuration file, the conditions of all sinks, and
// the outbox: what named readers have been sent. A reader follows one stream at a time. It advances
// over it, recording a delivery for each entry that it wants, and settles each when the receiver has
// accepted it. The deliveries of one stream stay when it continues with another.
type Store struct{ db *store.DB }

// NewStore returns the store in a database.
func NewStore(db *store.DB) *Store { return &Store{db} }

// The deliveries of a reader are one queue over all streams: the keys of batches,
// and the lines of queries, lie above those of changes and sources.
const aboveChanges = 1 << 62

// deliveryKey returns the key of a delivery.
func deliveryKey(e Position) int64 {
	if e.Stream == StreamBatches {
		return int64(e.Cursor) + aboveChanges
	}
	return int64(e.Cursor)
}

// positionOf returns the position that a key stands for.
func positionOf(key int64) Position {
	if key > aboveChanges {
		return Position{Stream: StreamBatches, Cursor: freshet.Cursor(key - aboveChanges)}
	}
	return Position{Cursor: freshet.Cursor(key)}
}

// Place returns the stream that a reader follows and how far it has read, or
// ErrNotFound if it has not begun: it has never advanced.
func (s *Store) Place(ctx context.Context, reader string) (at Position, err error) {
	begun := false
	err = s.db.Each(ctx, "reading the place of "+reader, "SELECT coalesce(stream, 0), place FROM places WHERE reader = ?", []any{reader}, func(scan func(...any) error) error {
		begun = true
		return scan(&at.Stream, &at.Cursor)
	})
	if err == nil && !begun {
		err = fmt.Errorf("place of %s: %w", reader, freshet.ErrNotFound)
	}
	return at, err
}

// Advance moves a reader's place and records the new deliveries of
// that stream, in one step. The first Advance begins the reader, wherever it goes, to
// zero too. Moving back is allowed and repeats deliveries: those still pending after the new
// place waits until the reader has come by, and keeps its message.
func (s *Store) Advance(ctx context.Context, reader string, to Position, added []NewDelivery) error {
	return s.db.Write(ctx, "moving the place of "+reader, func(tx *store.Tx) error {
		if err := tx.Put("places", reader, int64(to.Cursor), store.CountOrNull(int64(to.Stream))); err != nil {
			return err
		}
		for _, m := range added {
			if err := enqueue(tx, reader, Position{Stream: to.Stream, Cursor: m.Cursor}, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// enqueue adds a delivery, if its change or batch is still stored.
func enqueue(tx *store.Tx, reader string, at Position, m NewDelivery) error {
	row := []driver.Value{reader, deliveryKey(at), int64(0), int64(0), m.Err, bytesOrNull(m.Body), nil, nil, nil, nil, nil}
	line, err := lineOf(tx, at, row)
	if err != nil || line == 0 {
		return err
	}
	if at.Stream == StreamBatches {
		row[8], row[10] = m.Event, store.TextOrNull(string(m.Source))
	}
	if m.InOrder {
		row[6] = line
	}
	if err := sentBefore(tx, row); err != nil {
		return err
	}
	if row[4] != "" {
		row[3] = nil
	} else if row[7], err = inLine(tx, reader, row[6], deliveryKey(at)); err != nil {
		return err
	}
	if err := tx.Put("debts", row...); err != nil {
		return err
	}
	return lineUp(tx, reader, row[6]) // it may have been the first of its line before
}

// sentBefore has a delivery that is repeated keep its message, which the receiver may have
// seen already. That of a dead letter is rendered again.
func sentBefore(tx *store.Tx, row []driver.Value) error {
	return tx.Query("SELECT message FROM debts WHERE reader = ? AND change = ? AND due IS NOT NULL AND message IS NOT NULL", row[:2], func(v []driver.Value) error {
		row[4], row[5] = "", bytes.Clone(v[0].([]byte))
		return nil
	})
}

// lineOf returns the line of an entry, zero if the entry is gone. Of a batch
// it notes the query in the row of the delivery.
func lineOf(tx *store.Tx, at Position, row []driver.Value) (line int64, err error) {
	if at.Stream == StreamChanges {
		return tx.Number("SELECT source FROM changes WHERE cursor = ?", int64(at.Cursor))
	}
	err = tx.Query("SELECT q.key, q.id FROM parcels p JOIN queries q ON q.key = p.query WHERE p.cursor = ?", []driver.Value{int64(at.Cursor)}, func(v []driver.Value) error {
		line = v[0].(int64) + aboveChanges
		row[9] = v[1]
		return nil
	})
	return line, err
}

// inLine finds a place in a line for a delivery: it returns NULL if it is the first there or the
// order does not matter, and 1 if it waits for one before it. The one that was the first waits
// from then on. The line is that of a source or of a query.
func inLine(tx *store.Tx, reader string, line driver.Value, change int64) (waits driver.Value, err error) {
	if line == nil {
		return nil, nil
	}
	first, err := firstInLine(tx, reader, line, change)
	if err != nil || first == 0 {
		return nil, err
	}
	if first < change {
		return int64(1), nil
	}
	return nil, tx.Amend("debts", "reader = ? AND change = ? AND waits IS NULL", []driver.Value{reader, first}, func(row []driver.Value) { row[7] = int64(1) })
}

// firstInLine returns the first delivery of a line besides one, zero if there is none.
func firstInLine(tx *store.Tx, reader string, line driver.Value, besides int64) (int64, error) {
	return tx.Number("SELECT change FROM debts WHERE reader = ? AND source = ? AND due IS NOT NULL AND change <> ? ORDER BY change LIMIT 1", reader, line, besides)
}

// lineUp lets the first delivery of a line be due.
func lineUp(tx *store.Tx, reader string, line driver.Value) error {
	if line == nil {
		return nil
	}
	first, err := firstInLine(tx, reader, line, 0)
	if err != nil || first == 0 {
		return err
	}
	return tx.Amend("debts", "reader = ? AND change = ? AND waits IS NOT NULL", []driver.Value{reader, first}, func(row []driver.Value) { row[7] = nil })
}

// lineOfDelivery returns the line of a delivery, NULL if in none.
func lineOfDelivery(tx *store.Tx, reader string, change int64) (source driver.Value, err error) {
	err = tx.Query("SELECT source FROM debts WHERE reader = ? AND change = ?", []driver.Value{reader, change}, func(v []driver.Value) error {
		source = v[0]
		return nil
	})
	return source, err
}

// bytesOrNull returns nil as NULL.
func bytesOrNull(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return b
}

// deliveryColumns are the columns of a delivery. Its change or its batch can be missing.
const deliveryColumns = `d.change, d.attempts, d.due, d.err, d.message, coalesce(d.event, ''), coalesce(d.query, ''), coalesce(d.about, ''),
	coalesce(p.name, ''), coalesce(p.first, 0), coalesce(p.last, 0), coalesce(p.held, ''), p.at, coalesce(m.cursor, 0)`

// deliveryJoins are the tables of deliveryColumns.
const deliveryJoins = ` FROM debts d LEFT JOIN parcels p ON p.cursor = d.change - 4611686018427387904 LEFT JOIN matches m ON m.query = p.query AND m.number = p.last `

// deliveriesOf returns the deliveries of a reader for which a condition holds.
func (s *Store) deliveriesOf(ctx context.Context, doing, where string, args ...any) (found []PendingDelivery, err error) {
	err = s.db.Each(ctx, doing, "SELECT "+deliveryColumns+deliveryJoins+where, args, func(scan func(...any) error) error {
		var d PendingDelivery
		var key int64
		var due, told store.Moment
		p := queries.Batch{}
		if err := scan(&key, &d.Attempts, &due, &d.Err, &d.Body, &d.Event, &p.Query, &d.Source, &p.Name, &p.From, &p.To, &p.Delay, &told, &p.End.Cursor); err != nil {
			return err
		}
		if p.At = told.Time(); due != 0 { // which is at once
			d.Due = due.Time()
		}
		if at := positionOf(key); at.Stream == StreamBatches {
			p.Cursor = at.Cursor
			d.Batch = p
		} else {
			d.Change.Cursor = at.Cursor
		}
		found = append(found, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.withEntries(ctx, found)
}

// withEntries reads the changes of deliveries, and the epochs of all entries.
func (s *Store) withEntries(ctx context.Context, list []PendingDelivery) ([]PendingDelivery, error) {
	changes, err := s.db.Epochs(ctx, store.Changes)
	if err != nil {
		return nil, err
	}
	matches, err := s.db.Epochs(ctx, queries.MatchLog)
	if err != nil {
		return nil, err
	}
	var at []freshet.Cursor
	for _, d := range list {
		if d.Batch.Cursor == 0 {
			at = append(at, d.Change.Cursor)
		}
	}
	read, err := s.db.ChangesAt(ctx, at)
	if err != nil {
		return nil, err
	}
	by := make(map[freshet.Cursor]freshet.Change, len(read))
	for _, c := range read {
		by[c.Cursor] = c
	}
	for i := range list {
		d := &list[i]
		if d.Batch.Cursor > 0 {
			d.Batch.End.Epoch = matches.Of(d.Batch.End.Cursor)
			continue
		}
		if c, there := by[d.Change.Cursor]; there {
			d.Change = c
		}
		d.Change.Epoch = changes.Of(d.Change.Cursor)
		d.Source = d.Change.Source
	}
	return list, nil
}

// passed holds for deliveries that are not after the place of their reader in its stream. Those
// that are wait for those before them, which are repeated.
const passed = `NOT EXISTS (SELECT 1 FROM places o WHERE o.reader = d.reader AND (coalesce(o.stream, 0) = 1) = (d.change > 4611686018427387904)
	AND d.change > o.place + coalesce(o.stream, 0) * 4611686018427387904)`

// DueDeliveries returns up to limit deliveries of a reader that are due and not after its place,
// the longest due first, and when the next one after them is due (zero if none).
func (s *Store) DueDeliveries(ctx context.Context, reader string, now time.Time, limit int) (due []PendingDelivery, next time.Time, err error) {
	most := store.Limited(limit)
	if limit > 0 {
		most++ // one more, to see when it is due
	}
	due, err = s.deliveriesOf(ctx, "reading the deliveries of "+reader, "WHERE d.reader = (SELECT ?) AND d.due <= (SELECT ?) AND d.waits IS NULL AND "+passed+" ORDER BY d.due, d.change LIMIT (SELECT ?)", reader, int64(store.MomentOf(now)), most)
	if err != nil {
		return nil, next, err
	}
	for i, d := range due {
		if d.Due.IsZero() { // at once, that is since it was recorded
			due[i].Due = cmp.Or(d.Change.Before, d.Batch.At)
		}
	}
	if limit > 0 && len(due) == most {
		return due[:limit], due[limit].Due, nil
	}
	var later store.Moment
	err = s.db.Each(ctx, "reading the deliveries of "+reader, "SELECT min(due) FROM debts d WHERE d.reader = (SELECT ?) AND d.due > (SELECT ?) AND d.waits IS NULL AND "+passed,
		[]any{reader, int64(store.MomentOf(now))}, func(scan func(...any) error) error { return scan(&later) })
	return due, later.Time(), err
}

// DeadLetters returns up to limit dead letters of a reader, of what comes
// after an entry, in the order of the streams: changes come first.
func (s *Store) DeadLetters(ctx context.Context, reader string, after Position, limit int) ([]PendingDelivery, error) {
	return s.deliveriesOf(ctx, "reading the dead letters of "+reader, "WHERE d.reader = ? AND d.due IS NULL AND d.change > ? ORDER BY d.change LIMIT ?", reader, deliveryKey(after), store.Limited(limit))
}

// Revive makes dead letters due at once, as if they had never been
// tried; without entries it does so with all. It returns how many there were.
func (s *Store) Revive(ctx context.Context, reader string, at ...Position) (revived int, err error) {
	err = s.db.Write(ctx, "reviving dead letters of "+reader, func(tx *store.Tx) error {
		var dead []int64
		err := tx.Query("SELECT change FROM debts WHERE reader = ? AND due IS NULL ORDER BY change", []driver.Value{reader}, func(v []driver.Value) error {
			if change := v[0].(int64); len(at) == 0 || slices.Contains(at, positionOf(change)) {
				dead = append(dead, change)
			}
			return nil
		})
		if err != nil {
			return err
		}
		revived = len(dead)
		for _, change := range dead {
			source, err := lineOfDelivery(tx, reader, change)
			if err != nil {
				return err
			}
			waits, err := inLine(tx, reader, source, change)
			if err != nil {
				return err
			}
			err = tx.Amend("debts", "reader = ? AND change = ?", []driver.Value{reader, change}, func(row []driver.Value) {
				row[2], row[3], row[4], row[7] = int64(0), int64(0), "", waits
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return revived, err
}

// Settle removes deliveries that the receiver has accepted.
func (s *Store) Settle(ctx context.Context, reader string, at ...Position) error {
	if len(at) == 0 {
		return nil
	}
	return s.db.Write(ctx, "settling deliveries of "+reader, func(tx *store.Tx) error {
		for _, one := range at {
			source, err := lineOfDelivery(tx, reader, deliveryKey(one))
			if err != nil {
				return err
			}
			if err := tx.Remove("debts", "reader = ? AND change = ?", reader, deliveryKey(one)); err != nil {
				return err
			}
			if err := lineUp(tx, reader, source); err != nil {
				return err
			}
		}
		return nil
	})
}

// Postpone postpones a delivery after a failed attempt. A zero Due makes it a dead letter:
// it stays on record but is not returned by DueDeliveries again.
func (s *Store) Postpone(ctx context.Context, reader string, d PendingDelivery) error {
	return s.db.Write(ctx, "postponing a delivery of "+reader, func(tx *store.Tx) error {
		var source driver.Value
		err := tx.Amend("debts", "reader = ? AND change = ?", []driver.Value{reader, deliveryKey(d.Position())}, func(row []driver.Value) {
			row[2], row[3], row[4] = int64(d.Attempts), store.MomentOf(d.Due).Value(), d.Err
			source = row[6]
		})
		if err != nil || !d.Due.IsZero() {
			return err
		}
		return lineUp(tx, reader, source)
	})
}

// ShiftDue moves when a reader's deliveries are due, but for those that are due
// at once: the clock that they were reckoned by was set.
func (s *Store) ShiftDue(ctx context.Context, reader string, by time.Duration) error {
	return s.db.Write(ctx, "moving the deliveries of "+reader, func(tx *store.Tx) error {
		return tx.Amend("debts", "reader = ? AND due > 0", []driver.Value{reader}, func(row []driver.Value) {
			row[3] = max(1, row[3].(int64)+int64(by))
		})
	})
}

// CountDeliveries counts a reader's pending deliveries and its dead letters.
func (s *Store) CountDeliveries(ctx context.Context, reader string) (open, dead int, err error) {
	err = s.db.Each(ctx, "counting the deliveries of "+reader, "SELECT count(due), count(*) - count(due) FROM debts WHERE reader = ?", []any{reader},
		func(scan func(...any) error) error { return scan(&open, &dead) })
	return open, dead, err
}

// Retire records that an endpoint of a reader wants no more deliveries, and
// makes dead letters of all its deliveries, with err as the reason, in one step.
func (s *Store) Retire(ctx context.Context, reader string, endpoint EndpointID, err string) error {
	return s.db.Write(ctx, "retiring an endpoint of "+reader, func(tx *store.Tx) error {
		if failed := tx.Put("retired", reader, string(endpoint)); failed != nil {
			return failed
		}
		return tx.Amend("debts", "reader = ? AND due IS NOT NULL", []driver.Value{reader}, func(row []driver.Value) {
			row[3], row[4], row[7] = nil, err, nil
		})
	})
}

// Retired reports whether an endpoint of a reader wants no more deliveries.
func (s *Store) Retired(ctx context.Context, reader string, endpoint EndpointID) (retired bool, err error) {
	err = s.db.Each(ctx, "looking for an endpoint of "+reader, "SELECT EXISTS (SELECT 1 FROM retired WHERE reader = ? AND endpoint = ?)", []any{reader, string(endpoint)},
		func(scan func(...any) error) error { return scan(&retired) })
	return retired, err
}

// Sinks returns all that is kept, by name.
func (s *Store) Sinks(ctx context.Context) ([]Record, error) {
	return s.sinksOf(ctx, "")
}

// Sink returns what is kept of one sink, or ErrNotFound.
func (s *Store) Sink(ctx context.Context, name string) (Record, error) {
	found, err := s.sinksOf(ctx, "WHERE name = ?", name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("sink %s: %w", name, freshet.ErrNotFound)
	}
	if err != nil {
		return Record{}, err
	}
	return found[0], nil
}

// sinksOf returns the sinks for which a condition holds.
func (s *Store) sinksOf(ctx context.Context, where string, args ...any) (found []Record, err error) {
	err = s.db.Each(ctx, "reading the sinks", "SELECT name, definition, revision, failing, held, err FROM sinks "+where+" ORDER BY name", args,
		func(scan func(...any) error) error {
			var r Record
			var failing, held store.Moment
			if err := scan(&r.Name, &r.Definition, &r.Revision, &failing, &held, &r.Condition.Err); err != nil {
				return err
			}
			r.Condition.Failing, r.Condition.Held = failing.Time(), held.Time()
			found = append(found, r)
			return nil
		})
	return found, err
}

// sinkRow returns the row of a sink, or that of a new one.
func sinkRow(tx *store.Tx, name string) (row []driver.Value, err error) {
	row = []driver.Value{name, nil, int64(0), nil, nil, ""}
	err = tx.Query("SELECT name, definition, revision, failing, held, err FROM sinks WHERE name = ?", []driver.Value{name}, func(v []driver.Value) error {
		row = slices.Clone(v)
		if definition, ok := v[1].([]byte); ok {
			row[1] = slices.Clone(definition)
		}
		return nil
	})
	return row, err
}

// PutSink keeps a definition and returns its revision, which is one more than that
// of the one before. If revision is not zero and not that of the one before, it
// returns a *StaleError and changes nothing.
func (s *Store) PutSink(ctx context.Context, name string, definition []byte, revision int64) (now int64, err error) {
	err = s.db.Write(ctx, "keeping sink "+name, func(tx *store.Tx) error {
		now, err = PutIn(tx, name, definition, revision)
		return err
	})
	return now, err
}

// PutIn stores a sink like PutSink, in a transaction with something else.
func PutIn(tx *store.Tx, name string, definition []byte, revision int64) (now int64, err error) {
	row, err := sinkRow(tx, name)
	if err != nil {
		return 0, err
	}
	stored := row[2].(int64)
	if revision != 0 && revision != stored {
		return 0, &freshet.StaleError{Kind: "sink", Source: freshet.SourceID(name), Given: revision, Stored: stored}
	}
	row[1], row[2] = definition, stored+1
	return stored + 1, tx.Put("sinks", row...)
}

// SetCondition stores the condition of a sink.
func (s *Store) SetCondition(ctx context.Context, name string, c Condition) error {
	return s.db.Write(ctx, "noting how sink "+name+" is", func(tx *store.Tx) error {
		row, err := sinkRow(tx, name)
		if err != nil {
			return err
		}
		row[3], row[4], row[5] = store.MomentOf(c.Failing).Value(), store.MomentOf(c.Held).Value(), c.Err
		return tx.Put("sinks", row...)
	})
}

// RemoveSink forgets a sink with its position and its deliveries.
func (s *Store) RemoveSink(ctx context.Context, name string) error {
	return s.db.Write(ctx, "removing sink "+name, func(tx *store.Tx) error {
		if err := tx.Remove("sinks", "name = ?", name); err != nil {
			return err
		}
		for _, t := range []string{"places", "debts", "retired"} {
			if err := tx.Remove(t, "reader = ?", name); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReaderStatuses returns the status of all readers, or of one if it is named, by name.
// Those of which nothing is on record are left out. What it costs grows with the
// readers and their deliveries, not with a query for each.
func (s *Store) ReaderStatuses(ctx context.Context, reader string) ([]ReaderStatus, error) {
	found := statuses{}
	for _, read := range []func(context.Context, string, statuses) error{s.statusPlaces, s.statusCounts, s.statusRetired} {
		if err := read(ctx, reader, found); err != nil {
			return nil, err
		}
	}
	var all []ReaderStatus
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[name])
	}
	return all, nil
}

// statuses are those of readers by name.
type statuses map[string]*ReaderStatus

// of returns the status of a reader.
func (a statuses) of(reader string) *ReaderStatus {
	if a[reader] == nil {
		a[reader] = &ReaderStatus{Reader: reader}
	}
	return a[reader]
}

// ofReader is the end of a query for one reader, or for all.
func ofReader(reader string) (where string, args []any) {
	if reader == "" {
		return "", nil
	}
	return " WHERE reader = ?", []any{reader}
}

// statusPlaces reads how far readers are. The end of a batch is that of its last match.
func (s *Store) statusPlaces(ctx context.Context, reader string, found statuses) error {
	changes, err := s.db.Epochs(ctx, store.Changes)
	if err != nil {
		return err
	}
	matches, err := s.db.Epochs(ctx, queries.MatchLog)
	if err != nil {
		return err
	}
	where, args := ofReader(reader)
	return s.db.Each(ctx, "reading the states of readers", `SELECT r.reader, coalesce(r.stream, 0), r.place, coalesce(m.cursor, 0) FROM places r
		LEFT JOIN parcels p ON r.stream = 1 AND p.cursor = (SELECT max(cursor) FROM parcels WHERE cursor <= r.place)
		LEFT JOIN matches m ON m.query = p.query AND m.number = p.last`+where, args, func(scan func(...any) error) error {
		var a ReaderStatus
		var end freshet.Cursor
		if err := scan(&a.Reader, &a.At.Stream, &a.At.Cursor, &end); err != nil {
			return err
		}
		if a.Begun, a.Place = true, changes.Place(a.At.Cursor); a.At.Stream == StreamBatches {
			a.Place = matches.Place(end)
		}
		*found.of(a.Reader) = a
		return nil
	})
}

// statusCounts counts deliveries.
func (s *Store) statusCounts(ctx context.Context, reader string, found statuses) error {
	where, args := ofReader(reader)
	return s.db.Each(ctx, "reading the states of readers", "SELECT reader, count(due), count(*) - count(due) FROM debts"+where+" GROUP BY reader", args, func(scan func(...any) error) error {
		var a ReaderStatus
		if err := scan(&a.Reader, &a.Pending, &a.Dead); err != nil {
			return err
		}
		of := found.of(a.Reader)
		of.Pending, of.Dead = a.Pending, a.Dead
		return nil
	})
}

// statusRetired reads which endpoints want no more.
func (s *Store) statusRetired(ctx context.Context, reader string, found statuses) error {
	where, args := ofReader(reader)
	return s.db.Each(ctx, "reading the states of readers", "SELECT reader, endpoint FROM retired"+where+" ORDER BY reader, endpoint", args, func(scan func(...any) error) error {
		var name string
		var endpoint EndpointID
		if err := scan(&name, &endpoint); err != nil {
			return err
		}
		of := found.of(name)
		of.Retired = append(of.Retired, endpoint)
		return nil
	})
}
