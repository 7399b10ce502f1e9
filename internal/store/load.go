package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

// load reads into memory what the writing process has to know: a few numbers
// and an entry for each source, with the outcomes since the last mark folded
// into its tally.
func (s *mirror) load(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	tx, err := s.reader.BeginTx(ctx, s.cfg.Reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()

	mark, err := readMark(ctx, tx)
	if err != nil {
		return err
	}
	to, err := s.readReached(ctx, tx, nil)
	if err != nil {
		return err
	}
	sites, err := readSites(ctx, tx)
	if err != nil {
		return err
	}
	entries, err := readEntries(ctx, tx, s.showing(sites), "")
	if err != nil {
		return err
	}
	opens, err := readOpens(ctx, tx)
	if err != nil {
		return err
	}
	unmarked, latest, err := foldOutcomes(ctx, tx, entries, mark)
	if err != nil {
		return err
	}
	to.next.latest = max(to.next.latest, latest)
	byID := make(map[freshet.SourceID]*entry, len(entries))
	var owing []*entry
	for _, e := range entries {
		byID[e.id] = e
		e.begin(opens)
		if e.dirty = !s.cfg.ReadOnly && (e.last > mark || e.open != never); e.dirty {
			owing = append(owing, e)
		}
		to.next.latest = max(to.next.latest, e.begun)
	}
	to.opens = opens
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.unmarked, s.reached = to.next, unmarked, to
	s.takeEpochs(to.epochs)
	s.tail.clear()
	s.sites, s.entries, s.owing = sites, byID, owing
	if s.keepsRoll() {
		s.roll = newRoll()
		for _, e := range entries {
			s.roll.enter(e)
		}
	}
	return nil
}

// readMark returns up to which outcome the standings are written.
func readMark(ctx context.Context, tx querier) (mark freshet.Cursor, err error) {
	err = eachRow(ctx, tx, "SELECT coalesce(max(upto), 0) FROM marks", nil, func(scan func(...any) error) error { return scan(&mark) })
	return mark, err
}

// showing returns what makes the face of a source of its row, over what these sites say; nil if there
// is no roll.
func (s *mirror) showing(sites map[int64]freshet.Source) func(*sourceRow) *face {
	if !s.keepsRoll() {
		return nil
	}
	return func(row *sourceRow) *face { return storedFace(row, sites[row.site]) }
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

// readEntries returns the sources by key, as the tables have them: all, or those that a condition
// lets through. No row is kept longer than it takes to show its face.
func readEntries(ctx context.Context, tx *sql.Tx, show func(*sourceRow) *face, where string, args ...any) (map[int64]*entry, error) {
	entries := map[int64]*entry{}
	err := eachRow(ctx, tx, `SELECT s.key, s.id, s.url, coalesce(s.site, 0), s.removed, t.begun, t.seen, t.not_before, t.failures, t.failure, t.err,
		t.requests, coalesce(t.route, ''), t.polls, t.last_outcome, t.moved, t.moved_at, coalesce(t.suspect, ''), coalesce(t.landed, ''), coalesce(t.belied, 0), coalesce(t.newest, 0), coalesce(t.held, ''), coalesce(t.quiet_suspect, 0), coalesce(t.quiet_noise, 0), t.fresh, t.first, t.head, t.changes, t.last_change, t.changed_at, t.etag, t.last_modified,
		t.head_recipe, v.seen, v.hash, coalesce(v.text, 0), coalesce(v.raw, 0), coalesce(v.envelope, 0),
		coalesce(n.status, 0), coalesce(n.url, ''), coalesce(n.media_type, ''), coalesce(n.title, ''), n.header,
		s.label, coalesce(g.version, 0), coalesce(g.change, 0), coalesce(g.revision, 0), `+sourceColumns+`
		FROM sources s JOIN standings t ON t.source = s.key
		LEFT JOIN tombstones g ON g.id = s.id
		LEFT JOIN versions v ON v.source = s.key AND v.number = t.head
		LEFT JOIN envelopes n ON n.id = v.envelope `+where, args,
		func(scan func(...any) error) error {
			e := newEntry(0, "")
			var hash []byte
			var url, held string
			var movedAt Moment
			var moved freshet.Moved
			var before tombstone
			var kept freshet.Held
			var quiets freshet.Quiets
			var env envelope
			var row sourceRow
			err := scan(append([]any{&e.key, &e.id, &url, &e.site, &e.removed, &e.begun, &e.seen, &e.notBefore, &e.failures, &e.failure, &e.err,
				&e.requests, &e.route, &e.polls, &e.last, &moved.URL, &movedAt, &e.suspect, &e.landed, &e.belied, &e.newest, &held, &quiets.Suspect, &quiets.Noise, &e.fresh, &e.first, &e.head, &e.changes, &e.changed, &e.changedAt, &e.validators.ETag, &e.validators.LastModified,
				&e.recipe, &e.asked, &hash, &e.text, &e.raw, &e.envelope,
				&env.status, &env.url, &env.mediaType, &env.title, &env.header,
				&e.label, &before.version, &before.change, &before.revision}, row.places()...)...)
			if err == nil {
				kept, e.confirmed, err = readHeld(held)
			}
			copy(e.hash[:], hash)
			moved.At = movedAt.Time()
			e.moved.set(moved)
			e.before.set(before)
			e.held.set(kept)
			e.quiets.set(quiets)
			e.url = xxhash.Sum64String(url)
			if e.envelope != 0 {
				e.envelopeSum = env.sum()
			}
			e.title = strings.ToLower(env.title)
			if show != nil && err == nil {
				e.face = show(&row)
			}
			entries[e.key] = e
			return err
		})
	return entries, err
}

// readOpens returns when the newest attempts without an outcome began, by source.
func readOpens(ctx context.Context, tx *sql.Tx) (map[freshet.SourceID]Moment, error) {
	opens := map[freshet.SourceID]Moment{}
	err := eachRow(ctx, tx, "SELECT s.id, max(a.began) FROM attempts a JOIN sources s ON s.key = a.source GROUP BY s.id", nil, func(scan func(...any) error) error {
		var id freshet.SourceID
		var began Moment
		err := scan(&id, &began)
		opens[id] = began
		return err
	})
	return opens, err
}

// begin notes when the newest attempt of the source without an outcome began, if there is one.
func (e *entry) begin(opens map[freshet.SourceID]Moment) {
	e.ended = e.begun
	open, is := opens[e.id]
	if !is {
		return
	}
	e.open, e.strays = open, true
	e.begun = max(e.begun, open)
}

// foldOutcomes adds the outcomes after a mark to the tallies. It returns how many
// there are, and the latest that one is dated.
func foldOutcomes(ctx context.Context, tx *sql.Tx, entries map[int64]*entry, mark freshet.Cursor) (n int, latest Moment, err error) {
	latest = never
	err = eachRow(ctx, tx, "SELECT source, "+outcomeColumns+" FROM outcomes o WHERE cursor > ? ORDER BY cursor", []any{mark},
		func(scan func(...any) error) error {
			var key int64
			o, err := scanOutcome(func(dst ...any) error { return scan(append([]any{&key}, dst...)...) })
			if err != nil {
				return err
			}
			n++
			latest = max(latest, MomentOf(o.Began))
			if e := entries[key]; e != nil {
				e.add(&o)
			}
			return nil
		})
	return n, latest, err
}
