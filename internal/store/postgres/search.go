package postgres

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"freshet/internal/search"
	"freshet/internal/store"
)

// An index is the index of what versions say, in tables of the database. It implements
// [store.Index].
type index struct{ *Store }

// Use implements [store.Index].
func (x *index) Use(context.Context) (release func(), err error) { return func() {}, nil }

// Place implements [store.Index].
func (x *index) Place(ctx context.Context) (place string, err error) {
	err = x.reader.QueryRowContext(ctx, "SELECT upto FROM search_place").Scan(&place)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return place, err
}

// Indexed implements [store.Index].
func (x *index) Indexed(ctx context.Context) (map[int64]store.Indexed, error) {
	found := map[int64]store.Indexed{}
	err := store.EachRow(ctx, x.reader, "SELECT key, upto, first FROM search_sources", nil, func(scan func(...any) error) error {
		var key int64
		var at store.Indexed
		err := scan(&key, &at.Upto, &at.First)
		found[key] = at
		return err
	})
	return found, err
}

// Drop implements [store.Index].
func (x *index) Drop() error {
	_, err := x.reader.ExecContext(context.Background(), "TRUNCATE search_place, search_sources, search_passages")
	return err
}

// Match implements [store.Index]. What PostgreSQL makes of a passage says nothing of how
// rare the words are, so that is taken in here.
func (x *index) Match(ctx context.Context, phrase search.Query, source int64, most int, each func(store.Passage) error) error {
	asked := expression(phrase)
	var found []store.Passage
	err := store.EachRow(ctx, x.reader, `SELECT id, source, sum, first, coalesce(gone, ?), since, coalesce(until, ?), CAST(ts_rank(words, CAST(? AS TSQUERY), 1) AS DOUBLE PRECISION)
		FROM search_passages WHERE words @@ CAST(? AS TSQUERY) AND (CAST(? AS BIGINT) = 0 OR source = ?) ORDER BY id DESC LIMIT ?`,
		[]any{int64(search.Open), int64(search.Open), asked, asked, source, source, most}, func(scan func(...any) error) error {
			var p store.Passage
			var sum int64
			err := scan(&p.ID, &p.Source, &sum, &p.From, &p.To, &p.Since, &p.Until, &p.Rank)
			p.Sum = uint64(sum)
			found = append(found, p)
			return err
		})
	if err != nil {
		return err
	}
	var all float64
	if err := x.reader.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM search_passages").Scan(&all); err != nil {
		return err
	}
	rare := math.Log(1 + all/float64(max(len(found), 1)))
	for _, p := range found {
		p.Rank *= -rare
		if err := each(p); err != nil {
			return err
		}
	}
	return nil
}

// longestWord is how much of a word is looked at: PostgreSQL takes no longer ones.
const longestWord = 2000

// lexemeEscaper doubles what PostgreSQL takes for the end of a word or for an escape.
var lexemeEscaper = strings.NewReplacer("'", "''", `\`, `\\`)

// lexeme returns a word as PostgreSQL reads it.
func lexeme(word string) string {
	if len(word) > longestWord {
		end := longestWord
		for !utf8.RuneStart(word[end]) {
			end--
		}
		word = word[:end]
	}
	return "'" + lexemeEscaper.Replace(word) + "'"
}

// expression returns a phrase as PostgreSQL reads it.
func expression(p search.Query) string {
	parts := make([]string, len(p.Words))
	for i, w := range p.Words {
		parts[i] = lexeme(w)
	}
	text := strings.Join(parts, " <-> ")
	if p.Prefix {
		text += ":*"
	}
	return text
}

// vector returns the words of a passage, each with its place.
func vector(text string) string {
	var b strings.Builder
	for i, w := range strings.Fields(text) {
		b.WriteString(lexeme(w) + ":" + strconv.Itoa(i+1) + " ")
	}
	return b.String()
}

// An indexTx is a transaction on the index.
type indexTx struct {
	tx   *sql.Tx
	last int64 // ID of a passage
}

// indexLock allows one writer of an index at a time: each process derives the same from the same
// versions, but two at once would not.
const indexLock = "SELECT pg_advisory_xact_lock(hashtext('freshet search ' || current_schema()))"

// Begin implements [store.Index].
func (x *index) Begin(ctx context.Context) (store.IndexTx, error) {
	tx, err := x.reader.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	t := &indexTx{tx: tx}
	err = t.exec(indexLock)
	if err == nil {
		err = tx.QueryRow("SELECT coalesce(max(id), 0) FROM search_passages").Scan(&t.last)
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return t, nil
}

func (t *indexTx) exec(query string, args ...any) error {
	_, err := t.tx.Exec(query, args...)
	return err
}

// PutPlace implements [store.IndexTx].
func (t *indexTx) PutPlace(place string) error {
	return t.exec("INSERT INTO search_place (id, upto) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET upto = excluded.upto", place)
}

// Source implements [store.IndexTx].
func (t *indexTx) Source(key int64) (at store.Indexed, err error) {
	err = t.tx.QueryRow("SELECT upto, first, present FROM search_sources WHERE key = ?", key).Scan(&at.Upto, &at.First, &at.Present)
	if errors.Is(err, sql.ErrNoRows) {
		return at, nil
	}
	return at, err
}

// PutSource implements [store.IndexTx].
func (t *indexTx) PutSource(key int64, at store.Indexed) error {
	return t.exec("INSERT INTO search_sources (key, upto, first, present) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET upto = excluded.upto, first = excluded.first, present = excluded.present",
		key, at.Upto, at.First, at.Present)
}

// Add implements [store.IndexTx].
func (t *indexTx) Add(p store.Passage, text string) (int64, error) {
	t.last++
	return t.last, t.exec("INSERT INTO search_passages (id, source, sum, first, gone, since, until, words) VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS TSVECTOR))",
		t.last, p.Source, int64(p.Sum), p.From, store.EndOrNull(p.To), p.Since, store.EndOrNull(p.Until), vector(text))
}

// End implements [store.IndexTx].
func (t *indexTx) End(id, gone, until int64) error {
	return t.exec("UPDATE search_passages SET gone = ?, until = ? WHERE id = ?", gone, until, id)
}

// ForgetBefore implements [store.IndexTx].
func (t *indexTx) ForgetBefore(source, first int64) error {
	return t.exec("DELETE FROM search_passages WHERE source = ? AND gone <= ?", source, first)
}

// Forget implements [store.IndexTx].
func (t *indexTx) Forget(source int64) error {
	if err := t.exec("DELETE FROM search_passages WHERE source = ?", source); err != nil {
		return err
	}
	return t.exec("DELETE FROM search_sources WHERE key = ?", source)
}

// Commit implements [store.IndexTx].
func (t *indexTx) Commit() error { return t.tx.Commit() }

// Rollback implements [store.IndexTx].
func (t *indexTx) Rollback() error { return t.tx.Rollback() }
