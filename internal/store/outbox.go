package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// The debts of a reader are one queue, whatever stream they are of: the keys of parcels,
// and the lines of queries, lie above those of changes and sources.
const aboveChanges = 1 << 62

// debtKey returns the key of a debt.
func debtKey(e freshet.Entry) int64 {
	if e.Stream == freshet.StreamParcels {
		return int64(e.Cursor) + aboveChanges
	}
	return int64(e.Cursor)
}

// owedOf returns what a debt with a key is of.
func owedOf(key int64) freshet.Entry {
	if key > aboveChanges {
		return freshet.Entry{Stream: freshet.StreamParcels, Cursor: freshet.Cursor(key - aboveChanges)}
	}
	return freshet.Entry{Cursor: freshet.Cursor(key)}
}

// Place implements [freshet.Outbox].
func (s *Store) Place(ctx context.Context, reader string) (at freshet.Entry, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT coalesce(stream, 0), place FROM places WHERE reader = ?", reader).Scan(&at.Stream, &at.Cursor)
	if errors.Is(err, sql.ErrNoRows) {
		return at, fmt.Errorf("place of %s: %w", reader, freshet.ErrNotFound)
	}
	return at, s.fault("reading the place of "+reader, err)
}

// Advance implements [freshet.Outbox]. What is owed is due at once; what has been purged
// or removed is owed to nobody.
func (s *Store) Advance(ctx context.Context, reader string, to freshet.Entry, owed []freshet.Message) error {
	return s.write(ctx, "moving the place of "+reader, func(b *batch) error {
		if err := b.put(&placesTable, reader, int64(to.Cursor), CountOrNull(int64(to.Stream))); err != nil {
			return err
		}
		for _, m := range owed {
			if err := b.owe(reader, freshet.Entry{Stream: to.Stream, Cursor: m.Cursor}, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// owe notes what a reader owes, if what it is of is still there.
func (b *batch) owe(reader string, at freshet.Entry, m freshet.Message) error {
	row := []driver.Value{reader, debtKey(at), int64(0), int64(0), m.Err, bytesOrNull(m.Body), nil, nil, nil, nil, nil}
	line, err := b.lineOf(at, row)
	if err != nil || line == 0 {
		return err
	}
	if at.Stream == freshet.StreamParcels {
		row[8], row[10] = m.Event, TextOrNull(string(m.Source))
	}
	if m.InOrder {
		row[6] = line
	}
	if err := b.sentBefore(row); err != nil {
		return err
	}
	if row[4] != "" {
		row[3] = nil
	} else if row[7], err = b.inLine(reader, row[6], debtKey(at)); err != nil {
		return err
	}
	if err := b.put(&debtsTable, row...); err != nil {
		return err
	}
	return b.lineUp(reader, row[6]) // it may have been the first of its line before
}

// sentBefore has a debt that is owed once more keep its message, which the receiver may have
// seen already. One that was given up is made anew.
func (b *batch) sentBefore(row []driver.Value) error {
	return b.Query("SELECT message FROM debts WHERE reader = ? AND change = ? AND due IS NOT NULL AND message IS NOT NULL", row[:2], func(v []driver.Value) error {
		row[4], row[5] = "", bytes.Clone(v[0].([]byte))
		return nil
	})
}

// lineOf returns the line in which an entry is told, zero if the entry is gone. Of a parcel
// it notes the query in the row of the debt.
func (b *batch) lineOf(at freshet.Entry, row []driver.Value) (line int64, err error) {
	if at.Stream == freshet.StreamChanges {
		return b.Number("SELECT source FROM changes WHERE cursor = ?", int64(at.Cursor))
	}
	err = b.Query("SELECT q.key, q.id FROM parcels p JOIN queries q ON q.key = p.query WHERE p.cursor = ?", []driver.Value{int64(at.Cursor)}, func(v []driver.Value) error {
		line = v[0].(int64) + aboveChanges
		row[9] = v[1]
		return nil
	})
	return line, err
}

// inLine finds a place in a line for a debt: it returns NULL if it is the first there or the
// order does not matter, and 1 if it waits for one before it. The one that was the first waits
// from then on. The line is that of a source or of a query.
func (b *batch) inLine(reader string, line driver.Value, change int64) (waits driver.Value, err error) {
	if line == nil {
		return nil, nil
	}
	first, err := b.firstInLine(reader, line, change)
	if err != nil || first == 0 {
		return nil, err
	}
	if first < change {
		return int64(1), nil
	}
	return nil, b.amend(&debtsTable, "reader = ? AND change = ? AND waits IS NULL", []driver.Value{reader, first}, func(row []driver.Value) { row[7] = int64(1) })
}

// firstInLine returns the first debt of a line besides one, zero if there is none.
func (b *batch) firstInLine(reader string, line driver.Value, besides int64) (int64, error) {
	return b.Number("SELECT change FROM debts WHERE reader = ? AND source = ? AND due IS NOT NULL AND change <> ? ORDER BY change LIMIT 1", reader, line, besides)
}

// lineUp lets the first debt of a line be due.
func (b *batch) lineUp(reader string, line driver.Value) error {
	if line == nil {
		return nil
	}
	first, err := b.firstInLine(reader, line, 0)
	if err != nil || first == 0 {
		return err
	}
	return b.amend(&debtsTable, "reader = ? AND change = ? AND waits IS NOT NULL", []driver.Value{reader, first}, func(row []driver.Value) { row[7] = nil })
}

// lineOwed returns the line in which a debt stands, NULL if in none.
func (b *batch) lineOwed(reader string, change int64) (source driver.Value, err error) {
	err = b.Query("SELECT source FROM debts WHERE reader = ? AND change = ?", []driver.Value{reader, change}, func(v []driver.Value) error {
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

// debtColumns are all that is told of a debt. Its change or its parcel can be missing.
const debtColumns = `d.change, d.attempts, d.due, d.err, d.message, coalesce(d.event, ''), coalesce(d.query, ''), coalesce(d.about, ''),
	coalesce(p.name, ''), coalesce(p.first, 0), coalesce(p.last, 0), coalesce(p.held, ''), p.at, coalesce(m.cursor, 0)`

// debtJoins are the tables of debtColumns.
const debtJoins = ` FROM debts d LEFT JOIN parcels p ON p.cursor = d.change - 4611686018427387904 LEFT JOIN matches m ON m.query = p.query AND m.number = p.last `

// debtsOf returns the debts of a reader for which a condition holds.
func (s *Store) debtsOf(ctx context.Context, where string, args ...any) (found []freshet.Debt, err error) {
	err = eachRow(ctx, s.reader, "SELECT "+debtColumns+debtJoins+where, args, func(scan func(...any) error) error {
		var d freshet.Debt
		var key int64
		var due, told Moment
		p := freshet.Parcel{}
		if err := scan(&key, &d.Attempts, &due, &d.Err, &d.Body, &d.Event, &p.Query, &d.Source, &p.Name, &p.From, &p.To, &p.Hold, &told, &p.End.Cursor); err != nil {
			return err
		}
		if p.At = told.Time(); due != 0 { // which is at once
			d.Due = due.Time()
		}
		if at := owedOf(key); at.Stream == freshet.StreamParcels {
			p.Cursor = at.Cursor
			d.Parcel = p
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

// withEntries reads the changes of debts, and of which epochs all is.
func (s *Store) withEntries(ctx context.Context, debts []freshet.Debt) ([]freshet.Debt, error) {
	all, err := s.epochsNow(ctx)
	if err != nil {
		return nil, err
	}
	var ofChanges []*freshet.Debt
	for i := range debts {
		if d := &debts[i]; d.Parcel.Cursor > 0 {
			d.Parcel.End.Epoch = all.matches.Of(d.Parcel.End.Cursor)
		} else {
			ofChanges = append(ofChanges, d)
		}
	}
	for some := range slices.Chunk(ofChanges, changesAtOnce) {
		if err := s.withChanges(ctx, some); err != nil {
			return nil, err
		}
	}
	for _, d := range ofChanges {
		d.Change.Epoch = all.changes.Of(d.Change.Cursor)
		d.Source = d.Change.Source
	}
	return debts, nil
}

// changesAtOnce is how many changes are read by one statement: a sink is asked for what it is owed after
// each delivery, and a statement costs far more than a row.
const changesAtOnce = 16

// The statements that read a change, and several.
const selectChange = "SELECT " + changeColumns + " FROM changes c" + changeJoins + "WHERE c.cursor = ?"

var selectChanges = "SELECT " + changeColumns + " FROM changes c" + changeJoins + "WHERE c.cursor IN (?" + strings.Repeat(", ?", changesAtOnce-1) + ")"

// withChanges reads the changes of at most changesAtOnce debts.
func (s *Store) withChanges(ctx context.Context, debts []*freshet.Debt) error {
	query, args := selectChange, []any{debts[0].Change.Cursor}
	if len(debts) > 1 {
		query = selectChanges
		for i := 1; i < changesAtOnce; i++ {
			args = append(args, debts[min(i, len(debts)-1)].Change.Cursor)
		}
	}
	return eachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		c, err := scanChange(scan)
		for _, d := range debts {
			if d.Change.Cursor == c.Cursor {
				d.Change = c
			}
		}
		return err
	})
}

// passed holds for debts that are not after the place of their reader in its stream. Those
// that are wait for those before them, which are owed again.
const passed = `NOT EXISTS (SELECT 1 FROM places o WHERE o.reader = d.reader AND (coalesce(o.stream, 0) = 1) = (d.change > 4611686018427387904)
	AND d.change > o.place + coalesce(o.stream, 0) * 4611686018427387904)`

// Debts implements [freshet.Outbox].
func (s *Store) Debts(ctx context.Context, reader string, now time.Time, limit int) (due []freshet.Debt, next time.Time, err error) {
	most := Limited(limit)
	if limit > 0 {
		most++ // one more, to see when it is due
	}
	due, err = s.debtsOf(ctx, "WHERE d.reader = (SELECT ?) AND d.due <= (SELECT ?) AND d.waits IS NULL AND "+passed+" ORDER BY d.due, d.change LIMIT (SELECT ?)", reader, int64(MomentOf(now)), most)
	if err != nil {
		return nil, next, s.fault("reading the debts of "+reader, err)
	}
	for i, d := range due {
		if d.Due.IsZero() { // at once, that is since it is owed
			due[i].Due = cmp.Or(d.Change.Before, d.Parcel.At)
		}
	}
	if limit > 0 && len(due) == most {
		return due[:limit], due[limit].Due, nil
	}
	var later Moment
	err = s.reader.QueryRowContext(ctx, "SELECT min(due) FROM debts d WHERE d.reader = (SELECT ?) AND d.due > (SELECT ?) AND d.waits IS NULL AND "+passed, reader, int64(MomentOf(now))).Scan(&later)
	return due, later.Time(), s.fault("reading the debts of "+reader, err)
}

// Letters implements [freshet.Outbox].
func (s *Store) Letters(ctx context.Context, reader string, after freshet.Entry, limit int) ([]freshet.Debt, error) {
	dead, err := s.debtsOf(ctx, "WHERE d.reader = ? AND d.due IS NULL AND d.change > ? ORDER BY d.change LIMIT ?", reader, debtKey(after), Limited(limit))
	return dead, s.fault("reading what was given up of "+reader, err)
}

// Revive implements [freshet.Outbox].
func (s *Store) Revive(ctx context.Context, reader string, at ...freshet.Entry) (revived int, err error) {
	err = s.write(ctx, "owing again what was given up of "+reader, func(b *batch) error {
		var dead []int64
		err := b.Query("SELECT change FROM debts WHERE reader = ? AND due IS NULL ORDER BY change", []driver.Value{reader}, func(v []driver.Value) error {
			if change := v[0].(int64); len(at) == 0 || slices.Contains(at, owedOf(change)) {
				dead = append(dead, change)
			}
			return nil
		})
		if err != nil {
			return err
		}
		revived = len(dead)
		for _, change := range dead {
			source, err := b.lineOwed(reader, change)
			if err != nil {
				return err
			}
			waits, err := b.inLine(reader, source, change)
			if err != nil {
				return err
			}
			err = b.amend(&debtsTable, "reader = ? AND change = ?", []driver.Value{reader, change}, func(row []driver.Value) {
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

// Settle implements [freshet.Outbox].
func (s *Store) Settle(ctx context.Context, reader string, at ...freshet.Entry) error {
	if len(at) == 0 {
		return nil
	}
	return s.write(ctx, "settling debts of "+reader, func(b *batch) error {
		for _, one := range at {
			source, err := b.lineOwed(reader, debtKey(one))
			if err != nil {
				return err
			}
			if err := b.remove(&debtsTable, "reader = ? AND change = ?", reader, debtKey(one)); err != nil {
				return err
			}
			if err := b.lineUp(reader, source); err != nil {
				return err
			}
		}
		return nil
	})
}

// Postpone implements [freshet.Outbox]. A debt that is not there any more, say
// because its source was purged, is left at that.
func (s *Store) Postpone(ctx context.Context, reader string, d freshet.Debt) error {
	return s.write(ctx, "postponing a debt of "+reader, func(b *batch) error {
		var source driver.Value
		err := b.amend(&debtsTable, "reader = ? AND change = ?", []driver.Value{reader, debtKey(d.Entry())}, func(row []driver.Value) {
			row[2], row[3], row[4] = int64(d.Attempts), MomentOf(d.Due).Value(), d.Err
			source = row[6]
		})
		if err != nil || !d.Due.IsZero() {
			return err
		}
		return b.lineUp(reader, source)
	})
}

// ShiftDebts implements [freshet.Outbox].
func (s *Store) ShiftDebts(ctx context.Context, reader string, by time.Duration) error {
	return s.write(ctx, "moving the debts of "+reader, func(b *batch) error {
		return b.amend(&debtsTable, "reader = ? AND due > 0", []driver.Value{reader}, func(row []driver.Value) {
			row[3] = max(1, row[3].(int64)+int64(by))
		})
	})
}

// Owed implements [freshet.Outbox].
func (s *Store) Owed(ctx context.Context, reader string) (open, dead int, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT count(due), count(*) - count(due) FROM debts WHERE reader = ?", reader).Scan(&open, &dead)
	return open, dead, s.fault("counting the debts of "+reader, err)
}

// Retire implements [freshet.Outbox].
func (s *Store) Retire(ctx context.Context, reader string, endpoint freshet.EndpointID, err string) error {
	return s.write(ctx, "retiring an endpoint of "+reader, func(b *batch) error {
		if failed := b.put(&retiredTable, reader, string(endpoint)); failed != nil {
			return failed
		}
		return b.amend(&debtsTable, "reader = ? AND due IS NOT NULL", []driver.Value{reader}, func(row []driver.Value) {
			row[3], row[4], row[7] = nil, err, nil
		})
	})
}

// Retired implements [freshet.Outbox].
func (s *Store) Retired(ctx context.Context, reader string, endpoint freshet.EndpointID) (retired bool, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM retired WHERE reader = ? AND endpoint = ?)", reader, string(endpoint)).Scan(&retired)
	return retired, s.fault("looking for an endpoint of "+reader, err)
}
