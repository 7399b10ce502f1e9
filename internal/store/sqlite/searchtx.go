package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"freshet/internal/search"
	"freshet/internal/store"
)

// A searchTx is a transaction on the index.
type searchTx struct {
	*searchFile
	last   int64 // ID of a block
	all    collection
	purged bool // all of a source was forgotten

	// These are of the source at hand, and written with it.
	growing *block
	touched map[int64]*block
}

// Begin implements [store.Index].
func (x *searchFile) Begin(context.Context) (store.IndexTx, error) {
	if err := run(x.writer, "BEGIN IMMEDIATE"); err != nil {
		return nil, x.judged(err)
	}
	return &searchTx{searchFile: x, last: x.last, all: x.all, touched: map[int64]*block{}}, nil
}

func (x *searchTx) exec(query string, args ...driver.Value) error {
	return x.judged(x.writer.Do(query, args...))
}

// PutPlace implements [store.IndexTx].
func (x *searchTx) PutPlace(place string) error {
	return x.exec("INSERT OR REPLACE INTO place (id, upto, passages, words) VALUES (1, ?, ?, ?)", place, x.all.passages, x.all.words)
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
	for _, id := range slices.Sorted(maps.Keys(x.touched)) { // the index of words grows faster in order
		if err := x.put(x.touched[id]); err != nil {
			return err
		}
	}
	x.growing = nil
	clear(x.touched)
	return x.exec("INSERT OR REPLACE INTO sources (key, upto, first, present) VALUES (?, ?, ?, ?)", key, at.Upto, at.First, at.Present)
}

// Add implements [store.IndexTx].
func (x *searchTx) Add(p store.Passage, text string) (int64, error) {
	if x.growing == nil || len(x.growing.passages) == mostAt {
		x.last++
		x.growing = &block{id: x.last, source: p.Source}
		x.touched[x.last] = x.growing
	}
	b := x.growing
	b.passages = append(b.passages, indexedPassage{Run: p.Run, sum: p.Sum, words: int64(1 + strings.Count(text, " ")), text: text})
	return b.idOf(len(b.passages) - 1), nil
}

// End implements [store.IndexTx].
func (x *searchTx) End(id, gone, until int64) error {
	b, err := x.touch(id >> blockBits)
	if err != nil {
		return err
	}
	place := int(id & (mostAt - 1))
	if place >= len(b.passages) {
		return store.ErrStaleIndex
	}
	b.passages[place].To, b.passages[place].Until = gone, until
	return nil
}

// touch returns a block that is to be changed.
func (x *searchTx) touch(id int64) (*block, error) {
	b := x.touched[id]
	if b != nil {
		return b, nil
	}
	b = &block{id: id}
	err := x.writer.Query("SELECT source, passages FROM blocks WHERE id = ?", []driver.Value{id}, func(row []driver.Value) error {
		b.source, _ = row[0].(int64)
		passages, _ := row[1].([]byte)
		return b.decode(passages)
	})
	if err == nil && !b.stored {
		err = store.ErrStaleIndex
	}
	x.touched[id] = b
	return b, x.judged(err)
}

// put writes a block, and its words if they are not written yet.
func (x *searchTx) put(b *block) error {
	var ended driver.Value
	if first, ok := b.firstEnd(); ok {
		ended = first
	}
	if b.stored {
		return x.exec("UPDATE blocks SET ended = ?, passages = ? WHERE id = ?", ended, b.encode(), b.id)
	}
	x.all.add(b, 1)
	if err := x.exec("INSERT INTO blocks (id, source, ended, passages) VALUES (?, ?, ?, ?)", b.id, b.source, ended, b.encode()); err != nil {
		return err
	}
	text := b.text()
	if err := x.exec("INSERT INTO texts (id, text) VALUES (?, ?)", b.id, s2.Encode(nil, []byte(text))); err != nil {
		return err
	}
	return x.exec("INSERT INTO words (rowid, text) VALUES (?, ?)", b.id, text)
}

// ForgetBefore implements [store.IndexTx].
func (x *searchTx) ForgetBefore(source, first int64) error {
	blocks, err := x.blocks("source = ? AND ended <= ?", source, first)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if err := x.remove(b); err != nil {
			return err
		}
		if !b.forgetBefore(first) {
			continue
		}
		b.stored = false
		if err := x.put(b); err != nil {
			return err
		}
	}
	return nil
}

// Forget implements [store.IndexTx].
func (x *searchTx) Forget(source int64) error {
	blocks, err := x.blocks("source = ?", source)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if err := x.remove(b); err != nil {
			return err
		}
	}
	x.purged = true
	return x.exec("DELETE FROM sources WHERE key = ?", source)
}

// blocks returns the blocks for which a condition holds.
func (x *searchTx) blocks(where string, args ...driver.Value) (found []*block, err error) {
	err = x.writer.Query("SELECT id, source, passages, text FROM blocks JOIN texts USING (id) WHERE "+where, args, func(row []driver.Value) error {
		b, err := readBlock(row)
		found = append(found, b)
		return err
	})
	return found, x.judged(err)
}

// readBlock reads a row with an ID, a source, passages and their texts.
func readBlock(row []driver.Value) (*block, error) {
	b := &block{}
	b.id, _ = row[0].(int64)
	b.source, _ = row[1].(int64)
	passages, _ := row[2].([]byte)
	texts, _ := row[3].([]byte)
	return b, errors.Join(b.decode(passages), b.readTexts(texts))
}

// remove takes a block out of the index.
func (x *searchTx) remove(b *block) error {
	x.all.add(b, -1)
	for _, query := range []string{"DELETE FROM words WHERE rowid = ?", "DELETE FROM texts WHERE id = ?", "DELETE FROM blocks WHERE id = ?"} {
		if err := x.exec(query, b.id); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements [store.IndexTx].
func (x *searchTx) Commit() error {
	if err := run(x.writer, "COMMIT"); err != nil {
		return x.judged(errors.Join(err, x.Rollback()))
	}
	x.searchFile.last, x.searchFile.all = x.last, x.all
	if x.purged {
		return x.judged(x.erase(context.Background()))
	}
	return nil
}

// Rollback implements [store.IndexTx].
func (x *searchTx) Rollback() error { return run(x.writer, "ROLLBACK") }

// Match implements [store.Index].
func (x *searchFile) Match(ctx context.Context, phrase search.Query, source int64, most int, each func(store.Passage) error) error {
	var s scorer
	if err := x.db.QueryRowContext(ctx, "SELECT ifnull(max(passages), 0), ifnull(max(words), 0) FROM place").Scan(&s.passages, &s.collection.words); err != nil {
		return x.judged(err)
	}
	rows, err := x.db.QueryContext(ctx, `SELECT b.id, b.source, b.passages, t.text FROM words w JOIN blocks b ON b.id = w.rowid JOIN texts t ON t.id = w.rowid
		WHERE words MATCH ? AND (? = 0 OR b.source = ?) ORDER BY w.rowid DESC`, expression(phrase), source, source)
	if err != nil {
		return x.judged(err)
	}
	defer rows.Close()
	wanted := " " + strings.Join(phrase.Words, " ")
	if !phrase.Prefix {
		wanted += " "
	}
	for rows.Next() && len(s.found) < most {
		var row [4]any
		if err := rows.Scan(&row[0], &row[1], &row[2], &row[3]); err != nil {
			return x.judged(err)
		}
		b, err := readBlock([]driver.Value{row[0], row[1], row[2], row[3]})
		if err != nil {
			return err
		}
		s.add(b, wanted, most)
	}
	if err := rows.Err(); err != nil {
		return x.judged(err)
	}
	for _, p := range s.ranked() {
		if err := each(p); err != nil {
			return err
		}
	}
	return nil
}

// expression returns a phrase as FTS5 reads it. Its words have letters and digits alone.
func expression(p search.Query) string {
	text := `"` + strings.ReplaceAll(strings.Join(p.Words, " "), `"`, `""`) + `"`
	if p.Prefix {
		text += " *"
	}
	return text
}
