package store

import (
	"context"
	"database/sql/driver"
	"fmt"

	"freshet/internal/freshet"
)

// Sinks implements [freshet.SinkStore].
func (s *Store) Sinks(ctx context.Context) ([]freshet.SinkRecord, error) {
	return s.sinksOf(ctx, "")
}

// Sink implements [freshet.SinkStore].
func (s *Store) Sink(ctx context.Context, name string) (freshet.SinkRecord, error) {
	found, err := s.sinksOf(ctx, "WHERE name = ?", name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("sink %s: %w", name, freshet.ErrNotFound)
	}
	if err != nil {
		return freshet.SinkRecord{}, err
	}
	return found[0], nil
}

// sinksOf returns the sinks for which a condition holds.
func (s *Store) sinksOf(ctx context.Context, where string, args ...any) (found []freshet.SinkRecord, err error) {
	err = eachRow(ctx, s.reader, "SELECT name, definition, revision, failing, held, err FROM sinks "+where+" ORDER BY name", args,
		func(scan func(...any) error) error {
			var r freshet.SinkRecord
			var failing, held Moment
			if err := scan(&r.Name, &r.Definition, &r.Revision, &failing, &held, &r.Condition.Err); err != nil {
				return err
			}
			r.Condition.Failing, r.Condition.Held = failing.Time(), held.Time()
			found = append(found, r)
			return nil
		})
	return found, s.fault("reading the sinks", err)
}

// sinkRow returns the row of a sink, or that of a new one.
func (b *batch) sinkRow(name string) (row []driver.Value, err error) {
	row = []driver.Value{name, nil, int64(0), nil, nil, ""}
	err = b.Query(sinksTable.selection+" WHERE name = ?", []driver.Value{name}, func(v []driver.Value) error {
		row = cloneRow(v[:len(sinksTable.columns)])
		return nil
	})
	return row, err
}

// PutSink implements [freshet.SinkStore].
func (s *Store) PutSink(ctx context.Context, name string, definition []byte, revision int64) (now int64, err error) {
	err = s.write(ctx, "keeping sink "+name, func(b *batch) error {
		row, err := b.sinkRow(name)
		if err != nil {
			return err
		}
		stored := row[2].(int64)
		if revision != 0 && revision != stored {
			return &freshet.StaleError{Kind: "sink", Source: freshet.SourceID(name), Given: revision, Stored: stored}
		}
		now = stored + 1
		row[1], row[2] = definition, now
		return b.put(&sinksTable, row...)
	})
	return now, err
}

// NoteSink implements [freshet.SinkStore].
func (s *Store) NoteSink(ctx context.Context, name string, c freshet.SinkCondition) error {
	return s.write(ctx, "noting how sink "+name+" is", func(b *batch) error {
		row, err := b.sinkRow(name)
		if err != nil {
			return err
		}
		row[3], row[4], row[5] = MomentOf(c.Failing).Value(), MomentOf(c.Held).Value(), c.Err
		return b.put(&sinksTable, row...)
	})
}

// RemoveSink implements [freshet.SinkStore].
func (s *Store) RemoveSink(ctx context.Context, name string) error {
	return s.write(ctx, "removing sink "+name, func(b *batch) error {
		if err := b.remove(&sinksTable, "name = ?", name); err != nil {
			return err
		}
		for _, t := range []*table{&placesTable, &debtsTable, &retiredTable} {
			if err := b.remove(t, "reader = ?", name); err != nil {
				return err
			}
		}
		return nil
	})
}
