package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"freshet/internal/freshet"
)

// RunQueries implements [freshet.QueryStore].
func (s *Store) RunQueries(ctx context.Context, step freshet.QueryStep) error {
	return s.write(ctx, "keeping what queries matched", func(b *batch) error {
		r := &queryRun{batch: b, rows: map[freshet.QueryID]*queryRow{}}
		for _, n := range step.Notes {
			if err := r.note(n); err != nil {
				return err
			}
		}
		for _, m := range step.Matches {
			if err := r.match(m); err != nil {
				return err
			}
		}
		for _, p := range step.Parcels {
			if err := r.parcel(p); err != nil {
				return err
			}
		}
		for _, id := range r.moved {
			if err := b.putQuery(*r.rows[id]); err != nil {
				return err
			}
		}
		return nil
	})
}

// A queryRun keeps a step in running queries.
type queryRun struct {
	*batch
	rows  map[freshet.QueryID]*queryRow
	moved []freshet.QueryID // whose last numbers are others
}

// row returns a query, or nil if it is not there.
func (r *queryRun) row(id freshet.QueryID) (*queryRow, error) {
	if row, ok := r.rows[id]; ok {
		return row, nil
	}
	row, err := r.queryRow(id)
	if err != nil {
		return nil, err
	}
	r.rows[id] = nil
	if row.definition != "" {
		r.rows[id] = &row
	}
	return r.rows[id], nil
}

func (r *queryRun) note(n freshet.QueryNote) error {
	of := int64(0)
	if n.Query != "" {
		row, err := r.row(n.Query)
		if err != nil || row == nil {
			return err
		}
		of = row.key
	}
	if n.Body == nil {
		return r.remove(&queryNotesTable, "query = ? AND name = ?", of, n.Name)
	}
	return r.put(&queryNotesTable, of, n.Name, n.Body)
}

func (r *queryRun) match(m freshet.Match) error {
	row, err := r.row(m.Query)
	if err != nil || row == nil {
		return err
	}
	if m.Number != row.last+1 {
		return fmt.Errorf("match %d of query %s comes after match %d: %w", m.Number, m.Query, row.last, freshet.ErrConflict)
	}
	if err := r.beginEpoch(); err != nil {
		return err
	}
	value, err := json.Marshal(m.Value)
	if err != nil {
		return &freshet.InvalidError{Field: "value", Reason: err.Error()}
	}
	if m.Value == nil {
		value = nil
	}
	r.next.match++
	row.last++
	r.matched, r.moved = true, append(r.moved, m.Query)
	return r.insert(&matchesTable, int64(r.next.match), row.key, m.Number, string(m.Cause), MomentOf(m.At).Value(), MomentOf(m.Known).Value(),
		TextOrNull(string(m.Source)), jsonOrNull(m.Changes), TextOrNull(m.Group), TextOrNull(string(value)))
}

func (r *queryRun) parcel(p freshet.Parcel) error {
	row, err := r.row(p.Query)
	if err != nil || row == nil {
		return err
	}
	if p.From != row.told+1 || p.To < p.From || p.To > row.last {
		return fmt.Errorf("the parcel with the matches %d to %d of query %s comes after match %d of %d: %w", p.From, p.To, p.Query, row.told, row.last, freshet.ErrConflict)
	}
	r.next.parcel++
	row.told = p.To
	r.matched, r.moved = true, append(r.moved, p.Query)
	return r.insert(&parcelsTable, int64(r.next.parcel), row.key, p.From, p.To, TextOrNull(string(p.Hold)), MomentOf(p.At).Value(), TextOrNull(p.Name))
}

const matchColumns = `l.cursor, q.id, l.number, l.cause, l.at, l.known, coalesce(l.source, ''), coalesce(l.changes, ''), coalesce(l.grouped, ''), coalesce(l.value, '')`

// selection returns the condition and the order of a query over the log of matches or
// of parcels, which is l and has numbers in a column.
func (s *Store) selection(ctx context.Context, q freshet.MatchQuery, number string) (text string, args []any, err error) {
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
	return " JOIN queries q ON q.key = l.query WHERE " + where + order, append(args, Limited(q.Limit)), nil
}

// Matches implements [freshet.QueryStore].
func (s *Store) Matches(ctx context.Context, q freshet.MatchQuery) (found []freshet.Match, err error) {
	part, args, err := s.selection(ctx, q, "number")
	if err != nil {
		return nil, err
	}
	err = eachRow(ctx, s.reader, "SELECT "+matchColumns+" FROM matches l"+part, args, func(scan func(...any) error) error {
		m, err := scanMatch(scan)
		found = append(found, m)
		return err
	})
	if err != nil {
		return nil, s.fault("reading matches", err)
	}
	end := s.applied().match
	found = slices.DeleteFunc(found, func(m freshet.Match) bool { return m.Cursor > end })
	epochs, err := s.MatchEpochs(ctx)
	for i := range found {
		found[i].Epoch = epochs.Of(found[i].Cursor)
	}
	return found, err
}

func scanMatch(scan func(...any) error) (m freshet.Match, err error) {
	var at, known Moment
	var changes, value string
	if err := scan(&m.Cursor, &m.Query, &m.Number, &m.Cause, &at, &known, &m.Source, &changes, &m.Group, &value); err != nil {
		return m, err
	}
	m.At, m.Known = at.Time(), known.Time()
	if err := readJSON(changes, &m.Changes); err != nil {
		return m, err
	}
	return m, readJSON(value, &m.Value)
}

// Parcels implements [freshet.QueryStore].
func (s *Store) Parcels(ctx context.Context, q freshet.MatchQuery) (found []freshet.Parcel, err error) {
	part, args, err := s.selection(ctx, q, "last")
	if err != nil {
		return nil, err
	}
	err = eachRow(ctx, s.reader, "SELECT l.cursor, q.id, coalesce(l.name, ''), l.first, l.last, coalesce(l.held, ''), l.at, coalesce((SELECT m.cursor FROM matches m WHERE m.query = l.query AND m.number = l.last), 0) FROM parcels l"+part, args, func(scan func(...any) error) error {
		var p freshet.Parcel
		var at Moment
		err := scan(&p.Cursor, &p.Query, &p.Name, &p.From, &p.To, &p.Hold, &at, &p.End.Cursor)
		p.At = at.Time()
		found = append(found, p)
		return err
	})
	if err != nil {
		return nil, s.fault("reading parcels", err)
	}
	end := s.applied().parcel
	found = slices.DeleteFunc(found, func(p freshet.Parcel) bool { return p.Cursor > end })
	epochs, err := s.MatchEpochs(ctx)
	for i := range found {
		found[i].End.Epoch = epochs.Of(found[i].End.Cursor)
	}
	return found, err
}

// WaitParcel implements [freshet.QueryStore]. On a store opened for reading only it hears
// of nothing.
func (s *Store) WaitParcel(ctx context.Context, after freshet.Cursor) error {
	return s.await(ctx, &s.matched, after, func() freshet.Cursor { return s.next.parcel })
}

// LastParcel implements [freshet.QueryStore].
func (s *Store) LastParcel(ctx context.Context) (freshet.Cursor, error) {
	return s.end(ctx, func() freshet.Cursor { return s.next.parcel })
}

// WaitMatch implements [freshet.QueryStore]. On a store opened for reading only it hears
// of nothing.
func (s *Store) WaitMatch(ctx context.Context, after freshet.Cursor) error {
	return s.await(ctx, &s.matched, after, func() freshet.Cursor { return s.next.match })
}

// LastMatch implements [freshet.QueryStore].
func (s *Store) LastMatch(ctx context.Context) (freshet.Cursor, error) {
	return s.end(ctx, func() freshet.Cursor { return s.next.match })
}
