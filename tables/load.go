package tables

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/cespare/xxhash/v2"

	"freshet"
)

// load reads into memory what the writing process has to know: a few numbers
// and an entry for each source, with the outcomes since the last mark folded
// into its tally.
func (s *Store) load(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	tx, err := s.reader.BeginTx(ctx, s.cfg.Reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()

	var mark freshet.Cursor
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(upto), 0) FROM marks").Scan(&mark); err != nil {
		return err
	}
	next, err := readCounters(ctx, tx)
	if err != nil {
		return err
	}
	epochs, err := readEpochs(ctx, tx)
	if err != nil {
		return err
	}
	if err := readSeals(ctx, tx, &next); err != nil {
		return err
	}
	entries, rows, err := readEntries(ctx, tx)
	if err != nil {
		return err
	}
	shelves, err := readShelves(ctx, tx)
	if err != nil {
		return err
	}
	if !s.cfg.ReadOnly {
		showFaces(entries, rows, shelves)
	}
	unmarked, latest, err := foldOutcomes(ctx, tx, entries, mark)
	if err != nil {
		return err
	}
	next.latest = max(next.latest, latest)
	for _, e := range entries {
		if e.open != never {
			e.begun, e.dirty = max(e.begun, e.open), true
		}
		next.latest = max(next.latest, e.begun)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.unmarked = next, unmarked
	s.takeEpochs(epochs)
	s.tail.clear()
	s.shelves = shelves
	s.entries = make(map[freshet.SourceID]*entry, len(entries))
	for _, e := range entries {
		s.entries[e.id] = e
	}
	if !s.cfg.ReadOnly {
		s.roll = newRoll()
		for _, e := range entries {
			s.roll.enter(e)
		}
	}
	return nil
}

// showFaces gives all entries the faces of their sources.
func showFaces(entries map[int64]*entry, rows map[int64]sourceRow, shelves map[int64]*shelf) {
	for key, e := range entries {
		row, site := rows[key], freshet.Source{}
		if sh := shelves[row.site]; sh != nil {
			site = sh.site
		}
		e.face = storedFace(&row, site)
	}
}

// readSeals reads the seals, and lets no cursor be given out again that a log
// has had.
func readSeals(ctx context.Context, tx *sql.Tx, next *counter) error {
	by := map[string]seal{}
	err := eachRow(ctx, tx, "SELECT name, upto, value FROM seals", nil, func(scan func(...any) error) error {
		var name string
		var s seal
		err := scan(&name, &s.upto, &s.value)
		by[name] = s
		return err
	})
	for _, t := range sealedTables {
		next.seals[t.seal] = by[t.name]
	}
	next.outcome = max(next.outcome, freshet.Cursor(next.seals[sealOutcomes].upto))
	next.change = max(next.change, freshet.Cursor(next.seals[sealChanges].upto))
	return err
}

// readEntries returns the sources by key, as the tables have them, and their rows.
func readEntries(ctx context.Context, tx *sql.Tx) (map[int64]*entry, map[int64]sourceRow, error) {
	entries, rows := map[int64]*entry{}, map[int64]sourceRow{}
	err := eachRow(ctx, tx, `SELECT s.key, s.id, s.url, coalesce(s.site, 0), s.removed, t.begun, t.seen, t.not_before, t.failures, t.failure, t.err,
		t.requests, coalesce(t.route, ''), t.polls, t.last_outcome, t.moved, t.moved_at, coalesce(t.suspect, ''), coalesce(t.landed, ''), coalesce(t.belied, 0), coalesce(t.newest, 0), coalesce(t.held, ''), coalesce(t.quiet_suspect, 0), coalesce(t.quiet_noise, 0), t.fresh, t.first, t.head, t.changes, t.last_change, t.changed_at, t.etag, t.last_modified,
		t.head_recipe, v.seen, v.hash, coalesce(v.text, 0), coalesce(v.raw, 0), coalesce(v.envelope, 0),
		coalesce(n.status, 0), coalesce(n.url, ''), coalesce(n.media_type, ''), coalesce(n.title, ''), n.header,
		s.label, coalesce(g.version, 0), coalesce(g.change, 0), coalesce(g.revision, 0), `+sourceColumns+`
		FROM sources s JOIN standings t ON t.source = s.key
		LEFT JOIN tombstones g ON g.id = s.id
		LEFT JOIN versions v ON v.source = s.key AND v.number = t.head
		LEFT JOIN envelopes n ON n.id = v.envelope`, nil,
		func(scan func(...any) error) error {
			e := newEntry(0, "")
			var hash []byte
			var url, held string
			var movedAt moment
			var env envelope
			var row sourceRow
			err := scan(append([]any{&e.key, &e.id, &url, &e.site, &e.removed, &e.begun, &e.seen, &e.notBefore, &e.failures, &e.failure, &e.err,
				&e.requests, &e.route, &e.polls, &e.last, &e.moved.URL, &movedAt, &e.suspect, &e.landed, &e.belied, &e.newest, &held, &e.quiets.Suspect, &e.quiets.Noise, &e.fresh, &e.first, &e.head, &e.changes, &e.changed, &e.changedAt, &e.validators.ETag, &e.validators.LastModified,
				&e.recipe, &e.asked, &hash, &e.text, &e.raw, &e.envelope,
				&env.status, &env.url, &env.mediaType, &env.title, &env.header,
				&e.label, &e.before.version, &e.before.change, &e.before.revision}, row.places()...)...)
			if err == nil {
				e.held, e.confirmed, err = readHeld(held)
			}
			copy(e.hash[:], hash)
			e.moved.At = movedAt.time()
			e.url = xxhash.Sum64String(url)
			if e.envelope != 0 {
				e.envelopeSum = env.sum()
			}
			e.title = strings.ToLower(env.title)
			entries[e.key], rows[e.key] = e, row
			return err
		})
	if err != nil {
		return nil, nil, err
	}
	err = eachRow(ctx, tx, "SELECT source, max(began) FROM attempts GROUP BY source", nil, func(scan func(...any) error) error {
		var key int64
		var began moment
		if err := scan(&key, &began); err != nil {
			return err
		}
		if e := entries[key]; e != nil {
			e.open, e.strays = began, true
		}
		return nil
	})
	return entries, rows, err
}

// foldOutcomes adds the outcomes after a mark to the tallies. It returns how many
// there are, and the latest that one is dated.
func foldOutcomes(ctx context.Context, tx *sql.Tx, entries map[int64]*entry, mark freshet.Cursor) (n int, latest moment, err error) {
	latest = never
	err = eachRow(ctx, tx, "SELECT source, "+outcomeColumns+" FROM outcomes o WHERE cursor > ? ORDER BY cursor", []any{mark},
		func(scan func(...any) error) error {
			var key int64
			o, err := scanOutcome(func(dst ...any) error { return scan(append([]any{&key}, dst...)...) })
			if err != nil {
				return err
			}
			n++
			latest = max(latest, momentOf(o.Began))
			if e := entries[key]; e != nil {
				e.add(&o)
				e.dirty = true
			}
			return nil
		})
	return n, latest, err
}
