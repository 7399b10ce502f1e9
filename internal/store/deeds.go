package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"freshet/internal/freshet"
)

// Tell implements [freshet.UserStore].
func (s *Store) Tell(ctx context.Context, d freshet.Deed) error {
	return s.write(ctx, "writing the audit log", func(b *batch) error {
		last := int64(0)
		err := b.Query("SELECT coalesce(max(cursor), 0) FROM deeds", nil, func(v []driver.Value) error {
			last, _ = v[0].(int64)
			return nil
		})
		if err != nil {
			return err
		}
		return b.insert(&deedsTable, last+1, momentOf(d.At).value(), d.Who, d.Via, d.From, d.What, d.Method, d.Path, d.Subject, int64(d.Status),
			orNull(d.Before), orNull(d.After))
	})
}

// orNull returns a text, NULL if it is empty.
func orNull(text string) driver.Value {
	if text == "" {
		return nil
	}
	return text
}

// Deeds implements [freshet.UserStore].
func (s *Store) Deeds(ctx context.Context, q freshet.DeedQuery) (found []freshet.Deed, err error) {
	where, args := "WHERE (? = 0 OR cursor < ?)", []any{int64(q.Before), int64(q.Before)}
	if q.Who != "" {
		where, args = where+" AND who = ?", append(args, q.Who)
	}
	if q.Subject != "" {
		where, args = where+" AND subject = ?", append(args, q.Subject)
	}
	where += " ORDER BY cursor DESC"
	if q.Limit > 0 {
		where, args = where+" LIMIT ?", append(args, q.Limit)
	}
	err = eachRow(ctx, s.reader, "SELECT cursor, at, who, via, address, what, method, path, subject, status, earlier, later FROM deeds "+where, args,
		func(scan func(...any) error) error {
			var d freshet.Deed
			var at moment
			var before, after sql.NullString
			err := scan(&d.Cursor, &at, &d.Who, &d.Via, &d.From, &d.What, &d.Method, &d.Path, &d.Subject, &d.Status, &before, &after)
			d.At, d.Before, d.After = at.time(), before.String, after.String
			found = append(found, d)
			return err
		})
	return found, s.fault("reading the audit log", err)
}

// deedsAtOnce is how many entries of the audit log are deleted in one transaction.
const deedsAtOnce = 1000

// Sweep implements [freshet.UserStore].
func (s *Store) Sweep(ctx context.Context, now, idle, deeds time.Time) error {
	err := s.write(ctx, "removing expired passes", func(b *batch) error {
		_, err := b.removePasses("expires <= ? OR kind = 'session' AND used < ?", int64(momentOf(now)), int64(momentOf(idle)))
		return err
	})
	for more := true; more && err == nil; {
		err = s.write(ctx, "removing old entries of the audit log", func(b *batch) error {
			before := b.next.seals[sealDeeds].upto
			err := b.remove(&deedsTable, `cursor IN (SELECT cursor FROM (SELECT cursor, at FROM deeds ORDER BY cursor LIMIT ?) d
				WHERE (at < ? OR cursor <= (SELECT max(cursor) FROM deeds) - ?) AND cursor < (SELECT max(cursor) FROM deeds))`,
				int64(deedsAtOnce), int64(momentOf(deeds)), int64(freshet.MostDeeds))
			more = before-b.next.seals[sealDeeds].upto == deedsAtOnce
			return err
		})
	}
	return err
}
