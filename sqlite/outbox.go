package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
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
			there, err := b.number("SELECT count(*) FROM changes WHERE cursor = ?", int64(m.Change))
			if err != nil {
				return err
			}
			if there == 0 {
				continue
			}
			if err := b.put(&debtsTable, reader, int64(m.Change), int64(0), int64(0), "", bytesOrNull(m.Body)); err != nil {
				return err
			}
		}
		return nil
	})
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
		WHERE d.reader = ? AND d.due <= ? ORDER BY d.due, d.change LIMIT ?`, []any{reader, int64(momentOf(now)), limit},
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
	epochs, err := s.ChangeEpochs(ctx)
	if err != nil {
		return nil, next, err
	}
	for i := range due {
		due[i].Change.Epoch = epochs.Of(due[i].Change.Cursor)
	}
	if limit > 0 && len(due) == limit {
		return due[:limit-1], due[limit-1].Due, nil
	}
	var later moment
	err = s.reader.QueryRowContext(ctx, "SELECT min(due) FROM debts WHERE reader = ? AND due > ?", reader, int64(momentOf(now))).Scan(&later)
	return due, later.time(), fault(s.path, "reading the debts of "+reader, err)
}

// Settle implements [freshet.Outbox].
func (s *Store) Settle(ctx context.Context, reader string, at ...freshet.Cursor) error {
	if len(at) == 0 {
		return nil
	}
	return s.write(ctx, "settling debts of "+reader, func(b *batch) error {
		for _, cursor := range at {
			if err := b.remove(&debtsTable, "reader = ? AND change = ?", reader, int64(cursor)); err != nil {
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
		return b.amend(&debtsTable, "reader = ? AND change = ?", []driver.Value{reader, int64(d.Change.Cursor)}, func(row []driver.Value) {
			row[2], row[3], row[4] = int64(d.Attempts), momentOf(d.Due).value(), d.Err
		})
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
			row[3], row[4] = nil, err
		})
	})
}

// Retired implements [freshet.Outbox].
func (s *Store) Retired(ctx context.Context, reader string, endpoint freshet.EndpointID) (retired bool, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM retired WHERE reader = ? AND endpoint = ?)", reader, string(endpoint)).Scan(&retired)
	return retired, fault(s.path, "looking for an endpoint of "+reader, err)
}
