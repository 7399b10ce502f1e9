package queries

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/store"
)

// A Store keeps queries, the state that they are run with, and the logs of their matches and of the
// batches in which these are delivered.
type Store struct{ db *store.DB }

// NewStore returns the store in a database.
func NewStore(db *store.DB) *Store { return &Store{db} }

// A queryRow is a query as it is stored. One that was removed has no definition.
type queryRow struct {
	key        int64
	id         string
	definition string
	origin     string
	created    store.Moment
	revision   int64
	began      int64 // the place in the log of changes after which it looks at them
	last       int64 // number of its newest match
	told       int64 // likewise, that is in a batch
}

const queryColumns = "key, id, definition, origin, created, revision, began, last, told"

// query returns the query of a row.
func (r queryRow) query() (q Query, err error) {
	if err := json.Unmarshal([]byte(r.definition), &q); err != nil {
		return q, fmt.Errorf("read query %s: %w", r.id, err)
	}
	q.ID, q.Origin, q.Created, q.Revision = ID(r.id), freshet.Origin(r.origin), r.created.Time(), r.revision
	q.From, q.Last = freshet.Cursor(r.began), r.last
	return q, nil
}

// readQuery returns the row of a query, also of one that was removed; the zero row if
// there never was one.
func readQuery(tx *store.Tx, id ID) (r queryRow, err error) {
	err = tx.Query("SELECT "+queryColumns+" FROM queries WHERE id = ?", []driver.Value{string(id)}, func(v []driver.Value) error {
		r.key, _ = v[0].(int64)
		r.id, _ = v[1].(string)
		r.definition, _ = v[2].(string)
		r.origin, _ = v[3].(string)
		r.revision, _ = v[5].(int64)
		r.began, _ = v[6].(int64)
		r.last, _ = v[7].(int64)
		r.told, _ = v[8].(int64)
		return r.created.Scan(v[4])
	})
	return r, err
}

func putQuery(tx *store.Tx, r queryRow) error {
	return tx.Put("queries", r.key, r.id, r.definition, r.origin, r.created.Value(), r.revision, r.began, r.last, r.told)
}

// write makes a query what the row says.
func (r *queryRow) write(q Query) error {
	text, err := json.Marshal(q)
	r.definition, r.origin, r.created = string(text), string(q.Origin), store.MomentOf(q.Created)
	r.revision++
	return err
}

// AddQuery adds q and returns it as stored: with an ID made of its name if it has none. If another
// has its ID it returns an ErrConflict. One that takes the ID of a query that was removed continues
// after its last number and its last revision.
//
// If q.From is negative, the query looks at every change that is committed after it, and at none
// before.
func (s *Store) AddQuery(ctx context.Context, q Query) (added Query, err error) {
	err = s.db.Write(ctx, "adding a query", func(tx *store.Tx) error {
		added, err = AddIn(tx, q)
		tx.SetResult(added)
		return err
	})
	return added, err
}

// AddIn adds a query like AddQuery, in a transaction with something else.
func AddIn(tx *store.Tx, q Query) (added Query, err error) {
	if q.ID == "" {
		if q.ID, err = freeQueryID(tx, q.Name); err != nil {
			return q, err
		}
	}
	r, err := readQuery(tx, q.ID)
	switch {
	case err != nil:
		return q, err
	case r.definition != "":
		return q, fmt.Errorf("query %s: %w", q.ID, freshet.ErrConflict)
	case r.key == 0:
		last, err := tx.Number("SELECT coalesce(max(key), 0) FROM queries")
		if err != nil {
			return q, err
		}
		r.key, r.id = last+1, string(q.ID)
	}
	if r.began = int64(q.From); q.From < 0 {
		r.began = int64(tx.End(store.Changes))
	}
	q.Acknowledged = r.last // of one that had its ID before
	if err := r.write(q); err != nil {
		return q, err
	}
	if added, err = r.query(); err != nil {
		return q, err
	}
	return added, putQuery(tx, r)
}

// freeQueryID makes an ID of a name.
func freeQueryID(tx *store.Tx, name string) (ID, error) {
	base := IDFor(name)
	for n := 1; ; n++ {
		id := base
		if n > 1 {
			id = ID(fmt.Sprintf("%s-%d", base, n))
		}
		if r, err := readQuery(tx, id); err != nil || r.key == 0 {
			return id, err
		}
	}
}

// UpdateQuery replaces the query with the same ID and returns it as stored, or returns ErrNotFound. If
// q has a revision that is not the one stored, it returns a *StaleError and changes nothing.
func (s *Store) UpdateQuery(ctx context.Context, q Query) (stored Query, err error) {
	err = s.db.Write(ctx, "editing a query", func(tx *store.Tx) error {
		stored, err = UpdateIn(tx, q)
		return err
	})
	return stored, err
}

// UpdateIn replaces a query like UpdateQuery, in a transaction with something else.
func UpdateIn(tx *store.Tx, q Query) (stored Query, err error) {
	r, err := watchedQuery(tx, q.ID)
	if err != nil {
		return q, err
	}
	if q.Revision != 0 && q.Revision != r.revision {
		return q, &freshet.StaleError{Kind: "query", Source: freshet.SourceID(q.ID), Given: q.Revision, Stored: r.revision}
	}
	before, err := r.query()
	if err != nil {
		return q, err
	}
	if q.Created, q.Acknowledged = r.created.Time(), before.Acknowledged; before.Repeat == 0 {
		q.Acknowledged = r.last // what was sent before is not sent again
	}
	if err := r.write(q); err != nil {
		return q, err
	}
	if stored, err = r.query(); err != nil {
		return q, err
	}
	return stored, putQuery(tx, r)
}

// Acknowledge marks the matches of a query up to a number as acknowledged, so that they are not delivered again,
// and returns the query.
func (s *Store) Acknowledge(ctx context.Context, id ID, upTo int64) (q Query, err error) {
	err = s.db.Write(ctx, "acknowledging matches", func(tx *store.Tx) error {
		r, err := watchedQuery(tx, id)
		if err != nil {
			return err
		}
		if q, err = r.query(); err != nil || min(upTo, r.last) <= q.Acknowledged {
			return err
		}
		q.Acknowledged = min(upTo, r.last)
		if err := r.write(q); err != nil {
			return err
		}
		q.Revision = r.revision
		return putQuery(tx, r)
	})
	return q, err
}

// watchedQuery returns the row of a query that has not been removed.
func watchedQuery(tx *store.Tx, id ID) (queryRow, error) {
	r, err := readQuery(tx, id)
	if err == nil && r.definition == "" {
		err = unknownQuery(id)
	}
	return r, err
}

func unknownQuery(id ID) error {
	return fmt.Errorf("query %s: %w", id, freshet.ErrNotFound)
}

// RemoveQuery deletes a query with its matches and notes, but not its last numbers.
func (s *Store) RemoveQuery(ctx context.Context, id ID) error {
	return s.db.Write(ctx, "removing a query", func(tx *store.Tx) error {
		r, err := watchedQuery(tx, id)
		if err != nil {
			return err
		}
		r.definition, r.origin, r.created = "", "", store.MomentOf(time.Time{})
		r.told = r.last // pending matches are not sent any more
		if err := putQuery(tx, r); err != nil {
			return err
		}
		if err := tx.Remove("query_notes", "query = ?", r.key); err != nil {
			return err
		}
		for _, t := range []string{"matches", "parcels"} {
			if err := tx.Remove(t, "query = ?", r.key); err != nil {
				return err
			}
		}
		return tx.KeepCounters() // the newest match may have been among them
	})
}

// Queries returns all queries in the order of their IDs.
func (s *Store) Queries(ctx context.Context) ([]Query, error) {
	return s.queries(ctx, "reading the queries", "ORDER BY id")
}

// queries returns the queries that were not removed and for which a condition holds.
func (s *Store) queries(ctx context.Context, doing, where string, args ...any) (found []Query, err error) {
	err = s.db.Each(ctx, doing, "SELECT "+queryColumns+" FROM queries WHERE definition <> '' "+where, args, func(scan func(...any) error) error {
		q, err := scanQuery(scan)
		found = append(found, q)
		return err
	})
	return found, err
}

// Query returns one query, or ErrNotFound.
func (s *Store) Query(ctx context.Context, id ID) (Query, error) {
	found, err := s.queries(ctx, "reading a query", "AND id = ?", string(id))
	switch {
	case err != nil:
		return Query{}, err
	case len(found) == 0:
		return Query{}, unknownQuery(id)
	}
	return found[0], nil
}

func scanQuery(scan func(...any) error) (Query, error) {
	var r queryRow
	if err := scan(&r.key, &r.id, &r.definition, &r.origin, &r.created, &r.revision, &r.began, &r.last, &r.told); err != nil {
		return Query{}, err
	}
	return r.query()
}

// States yields the state that queries are run with, in the order of queries and names.
func (s *Store) States(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		var at State // the last that was yielded
		for {
			page, err := s.notesAfter(ctx, at)
			if err != nil {
				yield(State{}, err)
				return
			}
			for _, n := range page {
				if !yield(n, nil) {
					return
				}
			}
			if len(page) < notesAtOnce {
				return
			}
			at = page[len(page)-1]
		}
	}
}

// notesAtOnce is how many notes are read at once.
const notesAtOnce = 200

func (s *Store) notesAfter(ctx context.Context, at State) (page []State, err error) {
	err = s.db.Each(ctx, "reading what is remembered to run queries", `SELECT coalesce(q.id, ''), n.name, n.body FROM query_notes n LEFT JOIN queries q ON q.key = n.query
		WHERE (coalesce(q.id, ''), n.name) > (?, ?) ORDER BY coalesce(q.id, ''), n.name LIMIT ?`, []any{string(at.Query), at.Name, notesAtOnce}, func(scan func(...any) error) error {
		var n State
		err := scan(&n.Query, &n.Name, &n.Body)
		page = append(page, n)
		return err
	})
	return page, err
}

// CommitStep stores the results of a step in running the queries, all of it or nothing, except those of
// queries that were removed. The numbers of the matches of a query, and those in its batches, must
// follow each other without a gap.
func (s *Store) CommitStep(ctx context.Context, step Step) error {
	return s.db.Write(ctx, "keeping what queries matched", func(tx *store.Tx) error {
		r := &queryRun{tx: tx, rows: map[ID]*queryRow{}}
		for _, n := range step.States {
			if err := r.note(n); err != nil {
				return err
			}
		}
		for _, m := range step.Matches {
			if err := r.match(m); err != nil {
				return err
			}
		}
		for _, p := range step.Batches {
			if err := r.batch(p); err != nil {
				return err
			}
		}
		for _, id := range r.moved {
			if err := putQuery(tx, *r.rows[id]); err != nil {
				return err
			}
		}
		return nil
	})
}

// A queryRun keeps a step in running queries.
type queryRun struct {
	tx    *store.Tx
	rows  map[ID]*queryRow
	moved []ID // whose last numbers are others
}

// row returns a query, or nil if it is not there.
func (r *queryRun) row(id ID) (*queryRow, error) {
	if row, ok := r.rows[id]; ok {
		return row, nil
	}
	row, err := readQuery(r.tx, id)
	if err != nil {
		return nil, err
	}
	r.rows[id] = nil
	if row.definition != "" {
		r.rows[id] = &row
	}
	return r.rows[id], nil
}

func (r *queryRun) note(n State) error {
	of := int64(0)
	if n.Query != "" {
		row, err := r.row(n.Query)
		if err != nil || row == nil {
			return err
		}
		of = row.key
	}
	if n.Body == nil {
		return r.tx.Remove("query_notes", "query = ? AND name = ?", of, n.Name)
	}
	return r.tx.Put("query_notes", of, n.Name, n.Body)
}

func (r *queryRun) match(m Match) error {
	row, err := r.row(m.Query)
	if err != nil || row == nil {
		return err
	}
	if m.Number != row.last+1 {
		return fmt.Errorf("match %d of query %s comes after match %d: %w", m.Number, m.Query, row.last, freshet.ErrConflict)
	}
	value, err := json.Marshal(m.Value)
	if err != nil {
		return &invalid.Error{Field: "value", Reason: err.Error()}
	}
	if m.Value == nil {
		value = nil
	}
	at, err := r.tx.Next(MatchLog)
	if err != nil {
		return err
	}
	row.last++
	r.moved = append(r.moved, m.Query)
	return r.tx.Insert("matches", int64(at), row.key, m.Number, string(m.Cause), store.MomentOf(m.At).Value(), store.MomentOf(m.Known).Value(),
		store.TextOrNull(string(m.Source)), store.JSONOrNull(m.Changes), store.TextOrNull(m.Group), store.TextOrNull(string(value)))
}

func (r *queryRun) batch(p Batch) error {
	row, err := r.row(p.Query)
	if err != nil || row == nil {
		return err
	}
	if fits := p.From == row.told+1 || p.Delay == DelayRepeat && p.To <= row.told; !fits || p.To < p.From || p.To > row.last {
		return fmt.Errorf("the batch with the matches %d to %d of query %s comes after match %d of %d: %w", p.From, p.To, p.Query, row.told, row.last, freshet.ErrConflict)
	}
	at, err := r.tx.Next(batchLog)
	if err != nil {
		return err
	}
	row.told = max(row.told, p.To)
	r.moved = append(r.moved, p.Query)
	return r.tx.Insert("parcels", int64(at), row.key, p.From, p.To, store.TextOrNull(string(p.Delay)), store.MomentOf(p.At).Value(), store.TextOrNull(p.Name))
}

const matchColumns = `l.cursor, q.id, l.number, l.cause, l.at, l.known, coalesce(l.source, ''), coalesce(l.changes, ''), coalesce(l.grouped, ''), coalesce(l.value, '')`

// selection returns the condition and the order of a query over the log of matches or
// of batches, which is l and has numbers in a column.
func (s *Store) selection(ctx context.Context, q MatchQuery, number string) (text string, args []any, err error) {
	where, args := "l.cursor > ?", []any{q.After}
	if q.Query != "" {
		if _, err := s.Query(ctx, q.Query); err != nil {
			return "", nil, err
		}
		where, args = "l.query = (SELECT key FROM queries WHERE id = ?) AND l.cursor > ?", []any{string(q.Query), q.After}
	}
	if q.First > 0 || q.Last > 0 {
		where += " AND l." + number + " BETWEEN ? AND ?"
		args = append(args, q.First, cmp.Or(q.Last, math.MaxInt64))
	}
	order := " ORDER BY l.cursor LIMIT ?"
	if q.Newest {
		order = " ORDER BY l.cursor DESC LIMIT ?"
	}
	return " JOIN queries q ON q.key = l.query WHERE " + where + order, append(args, store.Limited(q.Limit)), nil
}

// Matches returns part of the log of matches, oldest first.
func (s *Store) Matches(ctx context.Context, q MatchQuery) (found []Match, err error) {
	part, args, err := s.selection(ctx, q, "number")
	if err != nil {
		return nil, err
	}
	err = s.db.Each(ctx, "reading matches", "SELECT "+matchColumns+" FROM matches l"+part, args, func(scan func(...any) error) error {
		m, err := scanMatch(scan)
		found = append(found, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	end := s.db.Visible(MatchLog)
	found = slices.DeleteFunc(found, func(m Match) bool { return m.Cursor > end })
	epochs, err := s.MatchEpochs(ctx)
	for i := range found {
		found[i].Epoch = epochs.Of(found[i].Cursor)
	}
	return found, err
}

func scanMatch(scan func(...any) error) (m Match, err error) {
	var at, known store.Moment
	var changes, value string
	if err := scan(&m.Cursor, &m.Query, &m.Number, &m.Cause, &at, &known, &m.Source, &changes, &m.Group, &value); err != nil {
		return m, err
	}
	m.At, m.Known = at.Time(), known.Time()
	if err := store.ReadJSON(changes, &m.Changes); err != nil {
		return m, err
	}
	return m, store.ReadJSON(value, &m.Value)
}

// Batches returns part of the log of batches, oldest first. Their cursors are those of batches, and their
// numbers those of their last matches.
func (s *Store) Batches(ctx context.Context, q MatchQuery) (found []Batch, err error) {
	part, args, err := s.selection(ctx, q, "last")
	if err != nil {
		return nil, err
	}
	err = s.db.Each(ctx, "reading batches", "SELECT l.cursor, q.id, coalesce(l.name, ''), l.first, l.last, coalesce(l.held, ''), l.at, coalesce((SELECT m.cursor FROM matches m WHERE m.query = l.query AND m.number = l.last), 0) FROM parcels l"+part, args, func(scan func(...any) error) error {
		var p Batch
		var at store.Moment
		err := scan(&p.Cursor, &p.Query, &p.Name, &p.From, &p.To, &p.Delay, &at, &p.End.Cursor)
		p.At = at.Time()
		found = append(found, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	end := s.db.Visible(batchLog)
	found = slices.DeleteFunc(found, func(p Batch) bool { return p.Cursor > end })
	epochs, err := s.MatchEpochs(ctx)
	for i := range found {
		found[i].End.Epoch = epochs.Of(found[i].End.Cursor)
	}
	return found, err
}

// WaitBatch returns when there is a batch after a place, or with the cause when ctx is done. On a
// store that is open for reading only it waits until [store.Store.Refresh] finds one.
func (s *Store) WaitBatch(ctx context.Context, after freshet.Cursor) error {
	return s.db.Wait(ctx, batchLog, after)
}

// LastBatch returns the end of the log of batches.
func (s *Store) LastBatch(ctx context.Context) (freshet.Cursor, error) {
	return s.db.Last(ctx, batchLog)
}

// WaitMatch returns when there is a match after a place, like WaitBatch.
func (s *Store) WaitMatch(ctx context.Context, after freshet.Cursor) error {
	return s.db.Wait(ctx, MatchLog, after)
}

// LastMatch returns the end of the log of matches.
func (s *Store) LastMatch(ctx context.Context) (freshet.Cursor, error) {
	return s.db.Last(ctx, MatchLog)
}

// MatchEpochs returns the epochs of the log of matches.
func (s *Store) MatchEpochs(ctx context.Context) (freshet.Epochs, error) {
	return s.db.Epochs(ctx, MatchLog)
}
