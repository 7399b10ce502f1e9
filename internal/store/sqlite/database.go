package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"

	"freshet/internal/store"
)

// What is verified and repaired, in the words of package store.
type (
	Damage   = store.Damage
	Report   = store.Report
	Progress = store.Progress
	Known    = store.Known
)

// A file is the file of a store as a database of tables.
type file Store

// insertNewBody inserts a body unless the source has one that looks the same: a body
// without a source is no body, and is ignored. To ask first costs as much again, and an
// INSERT from a SELECT of the same table makes a temporary one.
const insertNewBody = `INSERT OR IGNORE INTO bodies (id, source, sum, size, base, depth, frame)
	VALUES (?, CASE WHEN EXISTS (SELECT 1 FROM bodies WHERE source = ? AND sum = ? AND size = ?) THEN NULL ELSE ? END, ?, ?, ?, ?, ?)`

// Begin implements [store.Database].
func (f *file) Begin(w *store.Writer) error { return run(w, "BEGIN IMMEDIATE") }

// Commit implements [store.Database].
func (f *file) Commit(w *store.Writer) error { return run(w, "COMMIT") }

// Rollback implements [store.Database].
func (f *file) Rollback(w *store.Writer) error { return run(w, "ROLLBACK") }

func run(w *store.Writer, query string) error {
	_, err := w.Exec(query)
	return err
}

// Grow implements [store.Database]: a file has room.
func (f *file) Grow(*store.Writer, int64) error { return nil }

// Stale implements [store.Database]: outcomes are one table.
func (f *file) Stale(*store.Writer, int64) (store.Stretch, error) { return store.Stretch{}, nil }

// DropOutcomes implements [store.Database]. There is nothing that it could be asked for.
func (f *file) DropOutcomes(*store.Writer, store.Stretch) error { return nil }

// Judge implements [store.Database].
func (f *file) Judge(err error) store.Verdict {
	switch {
	case codeOf(err) == 0:
		return store.NotOfDatabase
	case isConstraint(err):
		return store.Refused
	case leavesDoubt(err):
		return store.InDoubt
	}
	return store.Failed
}

// Fault implements [store.Database].
func (f *file) Fault(doing string, err error) error { return fault(f.path, doing, err) }

// Hint implements [store.Database].
func (f *file) Hint() string { return mendHint(f.path) }

// Snapshot implements [store.Database].
func (f *file) Snapshot(ctx context.Context) (*store.Writer, error) {
	connector, err := sqlite.NewConnector((*Store)(f).dsn(true))
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w := store.NewWriter(conn)
	for _, query := range []string{"PRAGMA cache_size = -32000", "BEGIN"} {
		if err := run(w, query); err != nil {
			return nil, closed(w, err)
		}
	}
	return w, nil
}

// Inspect implements [store.Database]: SQLite looks through the pages of the file and the
// indexes.
func (f *file) Inspect(ctx context.Context, w *store.Writer, found func(what string)) error {
	return w.Query("PRAGMA integrity_check", nil, func(row []driver.Value) error {
		if what, _ := row[0].(string); what != "ok" {
			found(what)
		}
		return ctx.Err()
	})
}

// Held implements [store.Database]. Pages that have become free do not count: they are used
// again, or given back to the file system.
func (f *file) Held(w *store.Writer) (int64, error) {
	var of [3]int64
	for i, pragma := range []string{"PRAGMA page_count", "PRAGMA freelist_count", "PRAGMA page_size"} {
		n, err := w.Number(pragma)
		if err != nil {
			return 0, err
		}
		of[i] = n
	}
	return (of[0] - of[1]) * of[2], nil
}

// vacuumAtOnce is how many pages are given back to the file system at once.
const vacuumAtOnce = 2000

// Shrink implements [store.Database]. It gives pages that have become free back to the file
// system, but for a tenth, which will be wanted again. The file itself shrinks when the write-ahead
// log is copied into it, which a store that writes little would do much later.
func (f *file) Shrink(ctx context.Context, write func(func(*store.Writer) error) error) error {
	shrunk := false
	for {
		var free, pages int64
		err := write(func(w *store.Writer) (err error) {
			if free, err = w.Number("PRAGMA freelist_count"); err != nil {
				return err
			}
			if pages, err = w.Number("PRAGMA page_count"); err != nil || free <= pages/10 {
				return err
			}
			shrunk = true
			return w.Query("PRAGMA incremental_vacuum(2000)", nil, func([]driver.Value) error { return nil })
		})
		if err != nil {
			return err
		}
		if free <= pages/10+vacuumAtOnce {
			break
		}
	}
	if !shrunk {
		return nil
	}
	if err := (*Store)(f).emptyLog(ctx); err != nil && !errors.Is(err, errReaders) {
		return err
	}
	return nil
}
