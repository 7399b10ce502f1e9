package store

import (
	"cmp"
	"context"
	"math"

	"freshet/internal/freshet"
)

const changeColumns = `c.cursor, s.id, c.seq, c.number, c.from_hash, c.to_hash, c.after, c.before, c.modified, c.summary,
	coalesce(l.url, ''), coalesce(l.name, ''), coalesce(l.tags, '[]'),
	coalesce(c.suspect, ''), coalesce(c.landed, ''), coalesce(c.details, '')`

// changeJoins are the tables of changeColumns, besides changes as c.
const changeJoins = " JOIN sources s ON s.key = c.source LEFT JOIN labels l ON l.id = c.label "

// scanChange reads changeColumns. The epoch is left to withEpochs.
func scanChange(scan func(...any) error) (c freshet.Change, err error) {
	var from, to []byte
	var after, before, modified Moment
	var tags, details string
	err = scan(&c.Cursor, &c.Source, &c.Seq, &c.Number, &from, &to, &after, &before, &modified, &c.Summary,
		&c.Label.URL, &c.Label.Name, &tags, &c.Suspect, &c.Landed, &details)
	if err != nil {
		return c, err
	}
	if err := ReadJSON(details, &c.Details); err != nil {
		return c, err
	}
	copy(c.From[:], from)
	copy(c.To[:], to)
	c.After, c.Before, c.Modified = after.Time(), before.Time(), modified.Time()
	c.Label.Tags, err = scanTags(tags)
	return c, err
}

// selectOwnChanges follows the changes of one source from the newest back to a
// place.
const selectOwnChanges = `WITH RECURSIVE own (cursor, prev) AS (
		SELECT cursor, prev FROM changes WHERE cursor = ?
		UNION ALL
		SELECT c.cursor, c.prev FROM own JOIN changes c ON c.cursor = own.prev WHERE own.prev > ?
	) SELECT ` + changeColumns + ` FROM own JOIN changes c ON c.cursor = own.cursor ` + changeJoins + `
	WHERE ` + changeBounds

// changeBounds are the conditions of a query on a change c. The time is hidden from the
// planner, which must go by the order of the log.
const changeBounds = "c.cursor > ? AND c.cursor <= ? AND c.number > ? AND c.number <= ? AND coalesce(c.before, 0) >= ? AND coalesce(c.before, 0) < ?"

// Changes implements [freshet.ChangeLog]. No limit means all.
func (s *logReader) Changes(ctx context.Context, q freshet.ChangeQuery) ([]freshet.Change, error) {
	query := "SELECT " + changeColumns + " FROM changes c" + changeJoins + "WHERE " + changeBounds
	// A page that is gone before it was captured has a change without a version.
	above, upto := cmp.Or(q.Above, -1), cmp.Or(q.Upto, math.MaxInt)
	after, last, order := q.After, s.applied().change, " ORDER BY c.cursor"
	if q.Newest {
		after, last, order = 0, min(last, cmp.Or(q.After, math.MaxInt64)-1), " ORDER BY c.cursor DESC"
	}
	if !q.Seen.IsZero() {
		first, end, err := s.seenIn(ctx, q.Seen)
		if err != nil || end == 0 {
			return nil, err
		}
		after, last = max(after, first-1), min(last, end)
	}
	since, until := bounds(q.Seen)
	args := []any{after, last, above, upto, since, until, Limited(q.Limit)}
	if q.Source != "" {
		e, err := s.remembered(ctx, q.Source)
		if err != nil {
			return nil, err
		}
		query, args = selectOwnChanges, append([]any{e.changed, after}, args...)
	}
	var found []freshet.Change
	err := eachRow(ctx, s.reader, query+order+" LIMIT (SELECT ?)", args, func(scan func(...any) error) error {
		c, err := scanChange(scan)
		found = append(found, c)
		return err
	})
	if err != nil {
		return nil, s.fault("reading changes", err)
	}
	return s.withEpochs(ctx, found)
}

// seenIn returns the places of the first and the last change of a span of time; zeros if
// there is none.
func (s *logReader) seenIn(ctx context.Context, in freshet.Between) (first, last freshet.Cursor, err error) {
	since, until := bounds(in)
	err = eachRow(ctx, s.reader, "SELECT coalesce(min(cursor), 0), coalesce(max(cursor), 0) FROM changes WHERE before >= ? AND before < ?", []any{since, until},
		func(scan func(...any) error) error { return scan(&first, &last) })
	return first, last, s.fault("reading changes", err)
}

// Wait implements [freshet.ChangeLog]. On a store opened for reading only it hears
// of nothing.
func (s *mirror) Wait(ctx context.Context, after freshet.Cursor) error {
	return s.await(ctx, &s.changed, after, func() freshet.Cursor { return s.next.change })
}

// LastChange implements [freshet.ChangeLog].
func (s *mirror) LastChange(ctx context.Context) (freshet.Cursor, error) {
	return s.end(ctx, func() freshet.Cursor { return s.next.change })
}
