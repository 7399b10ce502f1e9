package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"freshet/internal/freshet"
)

// A queryRow is a query as it is stored. One that was removed has no definition.
type queryRow struct {
	key        int64
	id         string
	definition string
	origin     string
	created    Moment
	revision   int64
	began      int64 // the place in the log of changes after which it looks at them
	last       int64 // number of its newest match
	told       int64 // likewise, that is in a parcel
}

const queryColumns = "key, id, definition, origin, created, revision, began, last, told"

// query returns the query of a row.
func (r queryRow) query() (q freshet.Query, err error) {
	if err := json.Unmarshal([]byte(r.definition), &q); err != nil {
		return q, fmt.Errorf("read query %s: %w", r.id, err)
	}
	q.ID, q.Origin, q.Created, q.Revision = freshet.QueryID(r.id), freshet.Origin(r.origin), r.created.Time(), r.revision
	q.From, q.Last = freshet.Cursor(r.began), r.last
	return q, nil
}

// queryRow returns the row of a query, also of one that was removed; the zero row if
// there never was one.
func (b *batch) queryRow(id freshet.QueryID) (r queryRow, err error) {
	err = b.Query("SELECT "+queryColumns+" FROM queries WHERE id = ?", []driver.Value{string(id)}, func(v []driver.Value) error {
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

func (b *batch) putQuery(r queryRow) error {
	return b.put(&queriesTable, r.key, r.id, r.definition, r.origin, r.created.Value(), r.revision, r.began, r.last, r.told)
}

// write makes a query what the row says.
func (r *queryRow) write(q freshet.Query) error {
	text, err := json.Marshal(q)
	r.definition, r.origin, r.created = string(text), string(q.Origin), MomentOf(q.Created)
	r.revision++
	return err
}

// AddQuery implements [freshet.QueryStore].
func (s *Store) AddQuery(ctx context.Context, q freshet.Query) (added freshet.Query, err error) {
	err = s.write(ctx, "adding a query", func(b *batch) error {
		if q.ID == "" {
			if q.ID, err = b.freeQueryID(q.Name); err != nil {
				return err
			}
		}
		r, err := b.queryRow(q.ID)
		switch {
		case err != nil:
			return err
		case r.definition != "":
			return fmt.Errorf("query %s: %w", q.ID, freshet.ErrConflict)
		case r.key == 0:
			b.next.query++
			r.key, r.id = b.next.query, string(q.ID)
		}
		if r.began = int64(q.From); q.From < 0 {
			r.began = int64(b.next.change)
		}
		if err := r.write(q); err != nil {
			return err
		}
		if added, err = r.query(); err != nil {
			return err
		}
		return b.putQuery(r)
	})
	return added, err
}

// freeQueryID makes an ID of a name.
func (b *batch) freeQueryID(name string) (freshet.QueryID, error) {
	base := freshet.QueryIDFor(name)
	for n := 1; ; n++ {
		id := base
		if n > 1 {
			id = freshet.QueryID(fmt.Sprintf("%s-%d", base, n))
		}
		if r, err := b.queryRow(id); err != nil || r.key == 0 {
			return id, err
		}
	}
}

// UpdateQuery implements [freshet.QueryStore].
func (s *Store) UpdateQuery(ctx context.Context, q freshet.Query) (stored freshet.Query, err error) {
	err = s.write(ctx, "editing a query", func(b *batch) error {
		r, err := b.watchedQuery(q.ID)
		if err != nil {
			return err
		}
		if q.Revision != 0 && q.Revision != r.revision {
			return &freshet.StaleError{Kind: "query", Source: freshet.SourceID(q.ID), Given: q.Revision, Stored: r.revision}
		}
		next := q
		next.Created = r.created.Time()
		if err := r.write(next); err != nil {
			return err
		}
		if stored, err = r.query(); err != nil {
			return err
		}
		return b.putQuery(r)
	})
	return stored, err
}

// watchedQuery returns the row of a query that has not been removed.
func (b *batch) watchedQuery(id freshet.QueryID) (queryRow, error) {
	r, err := b.queryRow(id)
	if err == nil && r.definition == "" {
		err = unknownQuery(id)
	}
	return r, err
}

func unknownQuery(id freshet.QueryID) error {
	return fmt.Errorf("query %s: %w", id, freshet.ErrNotFound)
}

// RemoveQuery implements [freshet.QueryStore].
func (s *Store) RemoveQuery(ctx context.Context, id freshet.QueryID) error {
	return s.write(ctx, "removing a query", func(b *batch) error {
		r, err := b.watchedQuery(id)
		if err != nil {
			return err
		}
		r.definition, r.origin, r.created = "", "", never
		r.told = r.last // what waits is not told any more
		if err := b.putQuery(r); err != nil {
			return err
		}
		if err := b.remove(&queryNotesTable, "query = ?", r.key); err != nil {
			return err
		}
		for _, t := range []*table{&matchesTable, &parcelsTable} {
			if err := b.remove(t, "query = ?", r.key); err != nil {
				return err
			}
		}
		return b.keepCounters() // the newest match may have been among them
	})
}

// Queries implements [freshet.QueryStore].
func (s *Store) Queries(ctx context.Context) (found []freshet.Query, err error) {
	err = eachRow(ctx, s.reader, "SELECT "+queryColumns+" FROM queries WHERE definition <> '' ORDER BY id", nil, func(scan func(...any) error) error {
		q, err := scanQuery(scan)
		found = append(found, q)
		return err
	})
	return found, s.fault("reading the queries", err)
}

// Query implements [freshet.QueryStore].
func (s *Store) Query(ctx context.Context, id freshet.QueryID) (freshet.Query, error) {
	row := s.reader.QueryRowContext(ctx, "SELECT "+queryColumns+" FROM queries WHERE id = ? AND definition <> ''", string(id))
	q, err := scanQuery(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return q, unknownQuery(id)
	}
	return q, s.fault("reading a query", err)
}

func scanQuery(scan func(...any) error) (freshet.Query, error) {
	var r queryRow
	if err := scan(&r.key, &r.id, &r.definition, &r.origin, &r.created, &r.revision, &r.began, &r.last, &r.told); err != nil {
		return freshet.Query{}, err
	}
	return r.query()
}

// QueryNotes implements [freshet.QueryStore].
func (s *Store) QueryNotes(ctx context.Context) iter.Seq2[freshet.QueryNote, error] {
	return func(yield func(freshet.QueryNote, error) bool) {
		var at freshet.QueryNote // the last that was yielded
		for {
			page, err := s.notesAfter(ctx, at)
			if err != nil {
				yield(freshet.QueryNote{}, s.fault("reading what is remembered to run queries", err))
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

func (s *Store) notesAfter(ctx context.Context, at freshet.QueryNote) (page []freshet.QueryNote, err error) {
	err = eachRow(ctx, s.reader, `SELECT coalesce(q.id, ''), n.name, n.body FROM query_notes n LEFT JOIN queries q ON q.key = n.query
		WHERE (coalesce(q.id, ''), n.name) > (?, ?) ORDER BY coalesce(q.id, ''), n.name LIMIT ?`, []any{string(at.Query), at.Name, notesAtOnce}, func(scan func(...any) error) error {
		var n freshet.QueryNote
		err := scan(&n.Query, &n.Name, &n.Body)
		page = append(page, n)
		return err
	})
	return page, err
}
