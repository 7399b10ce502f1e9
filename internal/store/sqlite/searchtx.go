package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"

	"freshet/internal/store"
)

// A searchTx is a transaction on the index.
type searchTx struct {
	*searchFile
	last   int64 // ID of a passage
	purged bool  // all of a source was forgotten
}

// Begin implements [store.Index].
func (x *searchFile) Begin(context.Context) (store.IndexTx, error) {
	if err := run(x.writer, "BEGIN IMMEDIATE"); err != nil {
		return nil, x.judged(err)
	}
	return &searchTx{searchFile: x, last: x.last}, nil
}

func (x *searchTx) exec(query string, args ...driver.Value) error {
	return x.judged(x.writer.Do(query, args...))
}

// PutPlace implements [store.IndexTx].
func (x *searchTx) PutPlace(place string) error {
	return x.exec("INSERT INTO place (id, upto) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET upto = excluded.upto", place)
}

// Source implements [store.IndexTx].
func (x *searchTx) Source(key int64) (at store.Indexed, err error) {
	err = x.writer.Query("SELECT upto, first, present FROM sources WHERE key = ?", []driver.Value{key}, func(row []driver.Value) error {
		at.Upto, _ = row[0].(int64)
		at.First, _ = row[1].(int64)
		present, _ := row[2].([]byte)
		at.Present = bytes.Clone(present)
		return nil
	})
	return at, x.judged(err)
}

// PutSource implements [store.IndexTx].
func (x *searchTx) PutSource(key int64, at store.Indexed) error {
	return x.exec("INSERT INTO sources (key, upto, first, present) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET upto = excluded.upto, first = excluded.first, present = excluded.present",
		key, at.Upto, at.First, at.Present)
}

// Add implements [store.IndexTx].
func (x *searchTx) Add(p store.Passage, text string) (int64, error) {
	x.last++
	if err := x.exec("INSERT INTO passages (id, source, sum, first, gone, since, until) VALUES (?, ?, ?, ?, ?, ?, ?)",
		x.last, p.Source, int64(p.Sum), p.From, store.EndOrNull(p.To), p.Since, store.EndOrNull(p.Until)); err != nil {
		return 0, err
	}
	return x.last, x.exec("INSERT INTO words (rowid, text) VALUES (?, ?)", x.last, text)
}

// End implements [store.IndexTx].
func (x *searchTx) End(id, gone, until int64) error {
	return x.exec("UPDATE passages SET gone = ?, until = ? WHERE id = ?", gone, until, id)
}

// ForgetBefore implements [store.IndexTx].
func (x *searchTx) ForgetBefore(source, first int64) error {
	return x.forget("source = ? AND gone <= ?", source, first)
}

// Forget implements [store.IndexTx].
func (x *searchTx) Forget(source int64) error {
	if err := x.forget("source = ?", source); err != nil {
		return err
	}
	x.purged = true
	return x.exec("DELETE FROM sources WHERE key = ?", source)
}

// forget takes the passages out for which a condition holds.
func (x *searchTx) forget(where string, args ...driver.Value) error {
	if err := x.exec("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE "+where+")", args...); err != nil {
		return err
	}
	return x.exec("DELETE FROM passages WHERE "+where, args...)
}

// Commit implements [store.IndexTx].
func (x *searchTx) Commit() error {
	if err := run(x.writer, "COMMIT"); err != nil {
		return x.judged(errors.Join(err, x.Rollback()))
	}
	x.searchFile.last = x.last
	if x.purged {
		return x.judged(x.erase(context.Background()))
	}
	return nil
}

// Rollback implements [store.IndexTx].
func (x *searchTx) Rollback() error { return run(x.writer, "ROLLBACK") }
