package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet"
)

// Place implements [freshet.Outbox].
func (s *Store) Place(ctx context.Context, reader string) (freshet.Cursor, error) {
	var place freshet.Cursor
	err := s.reader.QueryRowContext(ctx, "SELECT place FROM places WHERE reader = ?", reader).Scan(&place)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("place of %s: %w", reader, freshet.ErrNotFound)
	}
	return place, fault(s.path, "reading the place of "+reader, err)
}

// Advance implements [freshet.Outbox]. What is owed is due at once; a change
// that has been purged is owed to nobody.
func (s *Store) Advance(ctx context.Context, reader string, to freshet.Cursor, owed []freshet.Message) error {
	return s.write(ctx, "moving the place of "+reader, func(b *batch) error {
		if err := b.put(&placesTable, reader, int64(to)); err != nil {
			return err
		}
		for _, m := range owed {
			if err := b.owe(reader, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// owe notes what a reader owes, if its change is still there.
func (b *batch) owe(reader string, m freshet.Message) error {
	source, err := b.number("SELECT source FROM changes WHERE cursor = ?", int64(m.Change))
	if err != nil || source == 0 {
		return err
	}
	row := []driver.Value{reader, int64(m.Change), int64(0), int64(0), m.Err, bytesOrNull(m.Body), nil, nil}
	if m.InOrder {
		row[6] = source
	}
	if m.Err != "" {
		row[3] = nil
	} else if row[7], err = b.inLine(reader, row[6], int64(m.Change)); err != nil {
		return err
	}
	if err := b.put(&debtsTable, row...); err != nil {
		return err
	}
	return b.lineUp(reader, row[6]) // it may have been the first of its line before
}

// inLine returns 1 if a reader owes something of a source besides one change, NULL if
// it does not or the order does not matter.
func (b *batch) inLine(reader string, source driver.Value, change int64) (driver.Value, error) {
	if source == nil {
		return nil, nil
	}
	others, err := b.number("SELECT EXISTS (SELECT 1 FROM debts WHERE reader = ? AND source = ? AND due IS NOT NULL AND change <> ?)", reader, source, change)
	if err != nil || others == 0 {
		return nil, err
	}
	return int64(1), nil
}

// lineUp lets the next debt of a source be due, if nothing is before it.
func (b *batch) lineUp(reader string, source driver.Value) error {
	if source == nil {
		return nil
	}
	ahead, err := b.number("SELECT EXISTS (SELECT 1 FROM debts WHERE reader = ? AND source = ? AND due IS NOT NULL AND waits IS NULL)", reader, source)
	if err != nil || ahead != 0 {
		return err
	}
	return b.amend(&debtsTable, "reader = ?1 AND change = (SELECT min(change) FROM debts WHERE reader = ?1 AND source = ?2 AND due IS NOT NULL)",
		[]driver.Value{reader, source}, func(row []driver.Value) { row[7] = nil })
}

// sourceOwed returns the source in whose line a debt stands, NULL if in none.
func (b *batch) sourceOwed(reader string, change int64) (source driver.Value, err error) {
	err = b.query("SELECT source FROM debts WHERE reader = ? AND change = ?", []driver.Value{reader, change}, func(v []driver.Value) error {
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

// Debts implements [freshet.Outbox].
func (s *Store) Debts(ctx context.Context, reader string, now time.Time, limit int) (due []freshet.Debt, next time.Time, err error) {
	if limit = limited(limit); limit > 0 {
		limit++ // one more, to see when it is due
	}
	err = eachRow(ctx, s.reader, `SELECT d.attempts, d.due, d.err, d.message, `+changeColumns+`
		FROM debts d JOIN changes c ON c.cursor = d.change`+changeJoins+`
		WHERE d.reader = ? AND d.due <= ? AND d.waits IS NULL ORDER BY d.due, d.change LIMIT (SELECT ?)`, []any{reader, int64(momentOf(now)), limit},
		func(scan func(...any) error) (err error) {
			var d freshet.Debt
			var at moment
			d.Change, err = scanChange(func(dst ...any) error {
				return scan(append([]any{&d.Attempts, &at, &d.Err, &d.Body}, dst...)...)
			})
			d.Due = at.time()
			if at == 0 {
				d.Due = d.Change.Before
			}
			due = append(due, d)
			return err
		})
	if err != nil {
		return nil, next, fault(s.path, "reading the debts of "+reader, err)
	}
	if err := s.dateDebts(ctx, due); err != nil {
		return nil, next, err
	}
	if limit > 0 && len(due) == limit {
		return due[:limit-1], due[limit-1].Due, nil
	}
	var later moment
	err = s.reader.QueryRowContext(ctx, "SELECT min(due) FROM debts WHERE reader = ? AND due > ? AND waits IS NULL", reader, int64(momentOf(now))).Scan(&later)
	return due, later.time(), fault(s.path, "reading the debts of "+reader, err)
}

// dateDebts says of which epochs the changes of debts are.
func (s *Store) dateDebts(ctx context.Context, debts []freshet.Debt) error {
	epochs, err := s.ChangeEpochs(ctx)
	if err != nil {
		return err
	}
	for i := range debts {
		debts[i].Change.Epoch = epochs.Of(debts[i].Change.Cursor)
	}
	return nil
}

// Letters implements [freshet.Outbox].
func (s *Store) Letters(ctx context.Context, reader string, after freshet.Cursor, limit int) (dead []freshet.Debt, err error) {
	err = eachRow(ctx, s.reader, `SELECT d.attempts, d.err, d.message, `+changeColumns+`
		FROM debts d JOIN changes c ON c.cursor = d.change`+changeJoins+`
		WHERE d.reader = ? AND d.due IS NULL AND d.change > ? ORDER BY d.change LIMIT ?`, []any{reader, int64(after), limited(limit)},
		func(scan func(...any) error) (err error) {
			var d freshet.Debt
			d.Change, err = scanChange(func(dst ...any) error {
				return scan(append([]any{&d.Attempts, &d.Err, &d.Body}, dst...)...)
			})
			dead = append(dead, d)
			return err
		})
	if err != nil {
		return nil, fault(s.path, "reading what was given up of "+reader, err)
	}
	return dead, s.dateDebts(ctx, dead)
}

// Revive implements [freshet.Outbox].
func (s *Store) Revive(ctx context.Context, reader string, at ...freshet.Cursor) (revived int, err error) {
	err = s.write(ctx, "owing again what was given up of "+reader, func(b *batch) error {
		var dead []int64
		err := b.query("SELECT change FROM debts WHERE reader = ? AND due IS NULL ORDER BY change", []driver.Value{reader}, func(v []driver.Value) error {
			if change := v[0].(int64); len(at) == 0 || slices.Contains(at, freshet.Cursor(change)) {
				dead = append(dead, change)
			}
			return nil
		})
		if err != nil {
			return err
		}
		revived = len(dead)
		for _, change := range dead {
			source, err := b.sourceOwed(reader, change)
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
func (s *Store) Settle(ctx context.Context, reader string, at ...freshet.Cursor) error {
	if len(at) == 0 {
		return nil
	}
	return s.write(ctx, "settling debts of "+reader, func(b *batch) error {
		for _, cursor := range at {
			source, err := b.sourceOwed(reader, int64(cursor))
			if err != nil {
				return err
			}
			if err := b.remove(&debtsTable, "reader = ? AND change = ?", reader, int64(cursor)); err != nil {
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
		err := b.amend(&debtsTable, "reader = ? AND change = ?", []driver.Value{reader, int64(d.Change.Cursor)}, func(row []driver.Value) {
			row[2], row[3], row[4] = int64(d.Attempts), momentOf(d.Due).value(), d.Err
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
	return open, dead, fault(s.path, "counting the debts of "+reader, err)
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
	return retired, fault(s.path, "looking for an endpoint of "+reader, err)
}
