package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// AddSource implements [freshet.Catalog].
func (s *Store) AddSource(ctx context.Context, src freshet.Source) (added freshet.Source, err error) {
	if src.Created.IsZero() {
		src.Created = s.cfg.Now()
	}
	err = s.write(ctx, "adding "+src.URL, func(b *batch) (err error) {
		added, err = addValid(b, src)
		b.result = added
		return err
	})
	return added, err
}

// addValid adds a source that can be one.
func addValid(b *batch, src freshet.Source) (added freshet.Source, err error) {
	switch {
	case src.URL == "":
		return src, &invalid.Error{Field: "url", Reason: "a source needs one"}
	case src.ID != "" && !freshet.ValidSourceID(src.ID):
		return src, &invalid.Error{Field: "id", Reason: "it may have up to 64 letters, digits, dots, dashes and underscores"}
	}
	if src.Of != "" {
		if err := b.watchedSite(src.Of); err != nil {
			return src, err
		}
	}
	if added, err = b.addSource(tidied(src)); err != nil {
		return added, err
	}
	return added, b.putPage(added)
}

// tidied returns src as it is stored.
func tidied(src freshet.Source) freshet.Source {
	tags := slices.Sorted(slices.Values(src.Tags))
	src.Tags = slices.Compact(tags)
	src.Created = MomentOf(src.Created).Time()
	return src
}

func (b *batch) addSource(src freshet.Source) (freshet.Source, error) {
	past, created, err := b.sameSource(src, "")
	if err != nil {
		return src, err
	}
	if src.ID != "" { // what was asked for holds, whatever the page was called before
		past = ""
		if e := b.entry(src.ID); e != nil {
			if !e.removed {
				return src, b.taken(e, src.URL)
			}
			past = e.id
			if created, err = b.created(e.key); err != nil {
				return src, err
			}
		}
	}
	if past != "" {
		src.ID, src.Created = past, created.Time()
		e := b.entry(past)
		e.removed = false
		before, err := b.revision(e.key)
		if err != nil {
			return src, err
		}
		src.Revision = before + 1
		return src, b.putSource(e, src)
	}
	if src.ID == "" {
		src.ID = newID(src, func(id freshet.SourceID) bool { return b.entry(id) != nil })
	}
	b.next.source++
	e := newEntry(b.next.source, src.ID)
	before, err := b.tombstone(src.ID)
	if err != nil {
		return src, err
	}
	e.before.set(before)
	src.Revision = before.revision + 1
	b.staged[src.ID] = e
	if err := b.putSource(e, src); err != nil {
		return src, err
	}
	if err := b.writeHead(e); err != nil {
		return src, err
	}
	return src, b.writeTally(e)
}

// sameSource looks for another source than except with the URL and recipe of
// src. One that is watched is a conflict; of those that were removed it
// returns the latest, and when it was first added.
func (b *batch) sameSource(src freshet.Source, except freshet.SourceID) (past freshet.SourceID, created Moment, err error) {
	key := src.Key()
	err = b.Query("SELECT s.removed, s.recipe, "+sourceColumns+" FROM sources s WHERE s.url = (SELECT ?) AND s.id <> (SELECT ?) ORDER BY s.key",
		[]driver.Value{src.URL, string(except)}, func(v []driver.Value) error {
			row, err := readSource(v[2:])
			if err != nil {
				return err
			}
			recipe, _ := v[1].(string)
			if row.site != 0 { // the recipe of a page is that of its site, unless it says otherwise
				other, err := row.source(b.siteOf(row.site))
				if err != nil {
					return err
				}
				recipe = other.Key()
			}
			switch removed, _ := v[0].(int64); {
			case recipe != key:
			case removed == 0:
				return &freshet.ConflictError{Existing: row.id, URL: src.URL}
			default:
				past, created = row.id, row.created
			}
			return nil
		})
	return past, created, err
}

// readSource reads sourceColumns.
func readSource(v []driver.Value) (r sourceRow, err error) {
	id, _ := v[0].(string)
	r.url, _ = v[1].(string)
	r.site, _ = v[2].(int64)
	definition, _ := v[3].(string)
	r.revision, _ = v[4].(int64)
	origin, _ := v[5].(string)
	r.id, r.definition, r.origin = freshet.SourceID(id), []byte(definition), freshet.Origin(origin)
	return r, r.created.Scan(v[6])
}

// source returns a source by its key.
func (b *batch) source(key int64) (src freshet.Source, err error) {
	err = b.Query("SELECT "+sourceColumns+" FROM sources s WHERE s.key = ?", []driver.Value{key}, func(v []driver.Value) error {
		row, err := readSource(v)
		if err == nil {
			src, err = row.source(b.siteOf(row.site))
		}
		return err
	})
	return src, err
}

// taken says that the ID of a watched source is in the way of another URL.
func (b *batch) taken(e *entry, url string) error {
	conflict := &freshet.ConflictError{Existing: e.id, URL: url}
	err := b.Query("SELECT url FROM sources WHERE key = ?", []driver.Value{e.key}, func(v []driver.Value) error {
		conflict.Taken, _ = v[0].(string)
		return nil
	})
	if err != nil {
		return err
	}
	return conflict
}

// created returns when a source was first added.
func (b *batch) created(key int64) (m Moment, err error) {
	err = b.Query("SELECT created FROM sources WHERE key = ?", []driver.Value{key}, func(v []driver.Value) error {
		return m.Scan(v[0])
	})
	return m, err
}

// revision returns how often a source has been written.
func (b *batch) revision(key int64) (int64, error) {
	return b.Number("SELECT revision FROM sources WHERE key = ?", key)
}

// putSource writes the row of a watched source. It is given a label by its next
// change.
func (b *batch) putSource(e *entry, src freshet.Source) error {
	e.label, e.called = 0, nil
	if url := xxhash.Sum64String(src.URL); url != e.url {
		// Validators of the old URL do not hold for the new one: they might match another page.
		e.url, e.sums = url, freshet.Sums{}
		told := e.told(freshet.Validators{}, freshet.Moved{})
		judged := e.suspect != "" || e.landed != "" || e.belied
		e.suspect, e.landed, e.belied = "", "", false
		held := e.release()
		if told || judged || held {
			if err := b.writeHead(e); err != nil {
				return err
			}
		}
	}
	recipe, definition := src.Key(), src.Definition()
	site := b.siteNamed(src.Of)
	if e.site = site; site != 0 {
		recipe, definition = "", src.DefinitionOver(b.siteOf(site))
	}
	e.row = indexRowOf(src, site, b.siteOf(site).Revision, definition)
	if err := b.keepSite(e, src); err != nil {
		return err
	}
	return b.put(&sourcesTable, e.key, string(src.ID), src.URL, recipe, string(definition), src.Revision,
		string(src.Origin), MomentOf(src.Created).Value(), int64(0), e.label, CountOrNull(e.site))
}

// putPage tells the hook of sites that the source of a page was written.
func (b *batch) putPage(src freshet.Source) error {
	e := b.entry(src.ID)
	if e.site == 0 {
		return nil
	}
	return b.store.schema.sites.PutPage(&Tx{b}, e.key, src)
}

// UpdateSource implements [freshet.Catalog]. A zero Created leaves it as it is.
func (s *Store) UpdateSource(ctx context.Context, src freshet.Source) error {
	err := s.write(ctx, "updating source "+string(src.ID), func(b *batch) error { return b.updateSource(src) })
	if err != nil || src.Site != nil {
		return err
	}
	return s.dissolve(ctx, src.ID)
}

// updateSource replaces a source.
func (b *batch) updateSource(src freshet.Source) error {
	if src.URL == "" {
		return &invalid.Error{Field: "url", Reason: "a source needs one"}
	}
	e := b.entry(src.ID)
	if e == nil || e.removed {
		return unknown(src.ID)
	}
	if err := b.sameSite(e, src); err != nil {
		return err
	}
	if _, _, err := b.sameSource(src, src.ID); err != nil {
		return err
	}
	next := tidied(src)
	stored, err := b.revision(e.key)
	if err != nil {
		return err
	}
	if src.Revision != 0 && src.Revision != stored {
		return &freshet.StaleError{Source: src.ID, Given: src.Revision, Stored: stored}
	}
	next.Revision = stored + 1
	if next.Created.IsZero() {
		created, err := b.created(e.key)
		if err != nil {
			return err
		}
		next.Created = created.Time()
	}
	if err := b.putSource(e, next); err != nil {
		return err
	}
	return b.putPage(next)
}

// RemoveSource implements [freshet.Catalog]. A source that has been removed
// can still be purged. That of a site goes in many transactions, the site last.
func (s *Store) RemoveSource(ctx context.Context, id freshet.SourceID, purge bool) error {
	for more := true; more; {
		err := s.write(ctx, "removing source "+string(id), func(b *batch) (err error) {
			e := b.entry(id)
			if e == nil || e.removed && !purge {
				return unknown(id)
			}
			if more = false; e.site != 0 || b.siteOf(e.key).ID != "" {
				src, err := b.source(e.key)
				if err != nil {
					return err
				}
				if more, err = s.schema.sites.Removing(&Tx{b}, e.key, src, purge); err != nil || more {
					b.more = more
					return err
				}
			}
			return b.drop(e, purge)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drop stops watching a source, or deletes all of it.
func (b *batch) drop(e *entry, purge bool) error {
	if purge {
		return b.purge(e)
	}
	e.removed = true
	removed := slices.Index(sourcesTable.Columns, "removed")
	return b.amend(&sourcesTable, "key = ?", []driver.Value{e.key}, func(row []driver.Value) { row[removed] = int64(1) })
}

// purge deletes a source and all that is known of it but its last numbers.
func (b *batch) purge(e *entry) error {
	if err := errors.Join(b.keepCounters(), b.bury(e)); err != nil {
		return err
	}
	if err := b.keepSpent(e); err != nil {
		return err
	}
	if err := b.unlog(&outcomesTable, e.last); err != nil {
		return err
	}
	if err := b.unlog(&changesTable, e.changed); err != nil {
		return err
	}
	err := b.Query("SELECT id FROM bodies WHERE source = ?", []driver.Value{e.key}, func(v []driver.Value) error {
		b.forget = append(b.forget, v[0].(int64))
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range []*table{&attemptsTable, &labelsTable} {
		if err := b.remove(t, "source = ?", e.key); err != nil {
			return err
		}
	}
	for _, table := range []string{"versions", "bodies", "envelopes", "beliefs", "standings", "cuts"} {
		if err := b.Do("DELETE FROM "+table+" WHERE source = ?", e.key); err != nil {
			return fmt.Errorf("%s of source %s: %w", table, e.id, err)
		}
	}
	b.staged[e.id], b.unlogged = nil, true
	if err := b.purgeSite(e); err != nil {
		return err
	}
	return b.remove(&sourcesTable, "key = ?", e.key)
}

// keepSpent keeps what polls of a source sent when the source is purged: the
// budget and the politeness count it all the same.
func (b *batch) keepSpent(e *entry) error {
	var url string
	err := b.Query("SELECT url FROM sources WHERE key = ?", []driver.Value{e.key}, func(v []driver.Value) error {
		url, _ = v[0].(string)
		return nil
	})
	if err != nil {
		return err
	}
	host := freshet.HostOf(url)
	for at := int64(e.last); at != 0; {
		err := b.copyAttempts(`SELECT 0, began, cursor, began, coalesce(route, ?), began + took, CASE WHEN requests > 1 THEN requests ELSE 1 END
			FROM outcomes WHERE cursor = ? AND began IS NOT NULL AND cause <> ?`, host, at, int64(freshet.BySharing))
		if err != nil {
			return err
		}
		if at, err = b.Number("SELECT prev FROM outcomes WHERE cursor = ?", at); err != nil {
			return err
		}
	}
	return b.copyAttempts("SELECT 0, began, -1 - (source << 16) - hop, at, coalesce(route, ?), ended, requests FROM attempts WHERE source = ?", host, e.key)
}

// copyAttempts puts what a query answers with on record as attempts.
func (b *batch) copyAttempts(query string, args ...driver.Value) error {
	var rows [][]driver.Value
	err := b.Query(query, args, func(v []driver.Value) error {
		rows = append(rows, cloneRow(v))
		return nil
	})
	for _, row := range rows {
		if err == nil {
			_, err = b.insertNew(&attemptsTable, row...)
		}
	}
	return err
}

// called returns what a source is called now, and makes a label of it if there is
// none yet.
func (b *batch) called(e *entry) (freshet.Label, error) {
	site := b.siteOf(e.site)
	if e.called != nil && e.siteRevision == site.Revision {
		return *e.called, nil
	}
	label, err := b.present(e.key)
	if err != nil {
		return label, err
	}
	if e.label == 0 || e.site != 0 { // what the site says may be another since
		if err := b.putLabel(e, label); err != nil {
			return label, err
		}
	}
	e.called, e.siteRevision = &label, site.Revision
	return label, nil
}

// present returns the label of a source as it is written now.
func (b *batch) present(key int64) (freshet.Label, error) {
	src, err := b.source(key)
	return freshet.Label{URL: src.URL, Name: src.Name, Tags: src.Tags}, err
}

// putLabel writes the label of a source, unless its newest one is the same.
func (b *batch) putLabel(e *entry, label freshet.Label) error {
	tags, err := json.Marshal(slices.Concat([]string{}, label.Tags))
	if err != nil {
		return err
	}
	before := e.label
	e.label, err = b.Number(`SELECT id FROM labels WHERE id = (SELECT max(id) FROM labels WHERE source = ?)
		AND url = ? AND name = ? AND tags = ?`, e.key, label.URL, label.Name, string(tags))
	if err != nil {
		return err
	}
	if e.label == 0 {
		b.next.label++
		e.label = b.next.label
		if err := b.insert(&labelsTable, e.label, e.key, label.URL, label.Name, string(tags)); err != nil {
			return err
		}
	}
	if e.label == before {
		return nil
	}
	at := slices.Index(sourcesTable.Columns, "label")
	return b.amend(&sourcesTable, "key = ?", []driver.Value{e.key}, func(row []driver.Value) { row[at] = e.label })
}

// scanTags reads the tags of a label; none are nil.
func scanTags(text string) (tags []string, err error) {
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, err
	}
	if len(tags) == 0 {
		return nil, nil
	}
	return tags, nil
}

// A counter hands out the numbers of the tables that the writing process
// numbers itself.
type counter struct {
	source, body, envelope, label int64
	outcome, change               freshet.Cursor
	logs                          [maxLogs]freshet.Cursor // of features, as in the schema
	sums                          [maxSums]tableSum
	latest                        Moment // that a poll is dated; never if there is none
}

// derived returns the end of the log of a feature that has epochs, zero if there is none.
func (c *counter) derived(s *Schema) freshet.Cursor {
	for i, l := range s.logs {
		if l.Epochs {
			return c.logs[i]
		}
	}
	return 0
}

// logEnds returns where the ends of the logs of features are scanned to.
func (c *counter) logEnds(s *Schema) (ends []any) {
	for i := range s.logs {
		ends = append(ends, &c.logs[i])
	}
	return ends
}

// keepCounters writes down the last numbers given out. Whatever deletes rows that
// may be the newest does so in the same transaction: what the table still holds
// does not tell how far its numbers went. The last change is in the sum of its log.
func (b *batch) keepCounters() error {
	counters := map[string]int64{
		"source": b.next.source, "body": b.next.body, "envelope": b.next.envelope, "label": b.next.label, "outcome": int64(b.next.outcome),
	}
	for i, l := range b.schema.logs {
		counters[l.Counter] = int64(b.next.logs[i])
	}
	for name, last := range counters {
		if err := b.put(&countersTable, name, last); err != nil {
			return err
		}
	}
	return nil
}

// readCounters returns the last numbers given out, as far as the tables and what
// was written down tell.
func readCounters(ctx context.Context, tx Querier, schema *Schema) (next counter, err error) {
	last := map[string]int64{}
	err = EachRow(ctx, tx, "SELECT name, last FROM counters", nil, func(scan func(...any) error) error {
		var name string
		var n int64
		err := scan(&name, &n)
		last[name] = n
		return err
	})
	if err != nil {
		return next, err
	}
	var outcome, upto int64
	err = EachRow(ctx, tx, schema.readCounters, nil, func(scan func(...any) error) error {
		return scan(append([]any{&next.source, &next.body, &next.envelope, &next.label, &outcome, &upto, &next.change, &next.latest}, next.logEnds(schema)...)...)
	})
	next.source, next.body = max(next.source, last["source"]), max(next.body, last["body"])
	next.envelope, next.label = max(next.envelope, last["envelope"]), max(next.label, last["label"])
	next.outcome = freshet.Cursor(max(outcome, upto, last["outcome"]))
	for i, l := range schema.logs {
		next.logs[i] = max(next.logs[i], freshet.Cursor(last[l.Counter]))
	}
	return next, err
}

// A tombstone is what is left of a source that was purged: its last numbers.
type tombstone struct {
	version, change, revision int64
}

// tombstone returns the last numbers of the sources with an ID that were purged.
func (b *batch) tombstone(id freshet.SourceID) (t tombstone, err error) {
	err = b.Query("SELECT version, change, revision FROM tombstones WHERE id = ?", []driver.Value{string(id)}, func(v []driver.Value) error {
		t = tombstone{v[0].(int64), v[1].(int64), v[2].(int64)}
		return nil
	})
	return t, err
}

// bury leaves a tombstone of a source that is purged.
func (b *batch) bury(e *entry) error {
	revision, err := b.revision(e.key)
	if err != nil {
		return err
	}
	return b.put(&tombstonesTable, string(e.id), e.lastVersion(), e.lastChange(), revision)
}
