package postgres

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// editsKept is for how long it is known which sources were edited. Who is further behind reads all.
const editsKept = "1 hour"

// noteEdits records which sources a transaction edits. It deletes old rows, but not the one before:
// a reader that has read that one continues from it.
func (d *database) noteEdits(w *store.Writer, ids []freshet.SourceID) error {
	text, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	d.editing = d.batch + 1
	if err := w.Do("INSERT INTO edits (batch, term, sources) VALUES (?, ?, ?)", d.editing, d.epoch, string(text)); err != nil {
		return err
	}
	return w.Do("DELETE FROM edits WHERE batch < ? AND at < clock_timestamp() - interval '"+editsKept+"'", d.edited)
}

// lastEdit reads which transaction was the last to edit a source.
func (d *database) lastEdit() (err error) {
	return d.writer.Query("SELECT coalesce(max(batch), 0) FROM edits", nil, func(v []driver.Value) error {
		d.edited = number(v[0])
		d.editing = d.edited
		return nil
	})
}

// editsSince implements [store.EditLog.Since]: the row of the place itself has to be there yet, made by
// the same process. Otherwise rows are missing, or the database was replaced by an older copy.
func (d *database) editsSince(ctx context.Context, q store.Querier, after *store.EditPlace) (found store.Edits, err error) {
	query, args := "SELECT batch, term, sources FROM edits WHERE batch >= ? ORDER BY batch", []any{int64(0)}
	if after == nil {
		query, args = "SELECT batch, term, '[]' FROM edits ORDER BY batch DESC LIMIT 1", nil
	} else {
		args[0] = after.Batch
	}
	first := true
	err = store.EachRow(ctx, q, query, args, func(scan func(...any) error) error {
		var at store.EditPlace
		var text string
		if err := scan(&at.Batch, &at.Term, &text); err != nil {
			return err
		}
		found.Upto = at
		if first {
			first = false
			found.Whole = after == nil || at == *after
			return nil
		}
		var ids []freshet.SourceID
		if err := json.Unmarshal([]byte(text), &ids); err != nil {
			return fmt.Errorf("which sources were edited: %w", err)
		}
		found.IDs = append(found.IDs, ids...)
		return nil
	})
	return found, err
}

// lastBatch implements [store.EditLog.Last].
func (d *database) lastBatch(ctx context.Context, q store.Querier) (at store.EditPlace, err error) {
	err = store.EachRow(ctx, q, "SELECT batch, epoch FROM leases WHERE name = 'brain'", nil, func(scan func(...any) error) error { return scan(&at.Batch, &at.Term) })
	return at, err
}

// Edited returns which sources were edited after a place; without one only where that log ends.
func (s *Store) Edited(ctx context.Context, after *store.EditPlace) (store.Edits, error) {
	found, err := s.base.editsSince(ctx, s.reader, after)
	return found, s.base.Fault("reading which sources were edited", err)
}
