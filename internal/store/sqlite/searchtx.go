package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"freshet/internal/store"
)

// A searchTx is a transaction on the index.
type searchTx struct {
	*searchFile
	tx     *sql.Tx
	stmts  map[string]*sql.Stmt
	last   int64 // ID of a passage
	purged bool  // all of a source was forgotten
}

// Begin implements [store.Index].
func (x *searchFile) Begin(ctx context.Context) (store.IndexTx, error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, x.judged(err)
	}
	return &searchTx{searchFile: x, tx: tx, stmts: map[string]*sql.Stmt{}, last: x.last}, nil
}

func (x *searchTx) exec(query string, args ...any) error {
	st := x.stmts[query]
	if st == nil {
		var err error
		if st, err = x.tx.Prepare(query); err != nil {
			return x.judged(err)
		}
		x.stmts[query] = st
	}
	_, err := st.Exec(args...)
	return x.judged(err)
}

// PutPlace implements [store.IndexTx].
func (x *searchTx) PutPlace(place string) error {
	return x.exec("INSERT INTO place (id, upto) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET upto = excluded.upto", place)
}

// Source implements [store.IndexTx].
func (x *searchTx) Source(key int64) (at store.Indexed, err error) {
	err = x.tx.QueryRow("SELECT upto, first, present FROM sources WHERE key = ?", key).Scan(&at.Upto, &at.First, &at.Present)
	if errors.Is(err, sql.ErrNoRows) {
		return at, nil
	}
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
func (x *searchTx) forget(where string, args ...any) error {
	if err := x.exec("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE "+where+")", args...); err != nil {
		return err
	}
	return x.exec("DELETE FROM passages WHERE "+where, args...)
}

// Commit implements [store.IndexTx].
func (x *searchTx) Commit() error {
	err := x.tx.Commit()
	if err == nil {
		x.searchFile.last = x.last
	}
	if err == nil && x.purged {
		err = x.erase(context.Background())
	}
	return x.judged(err)
}

// Rollback implements [store.IndexTx].
func (x *searchTx) Rollback() error { return x.tx.Rollback() }
