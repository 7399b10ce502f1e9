package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"freshet"
)

// A counter hands out the numbers of the tables that the writing process
// numbers itself.
type counter struct {
	source, body, envelope, label  int64
	query                          int64
	outcome, change, match, parcel freshet.Cursor
	seals                          [sealsEnd]seal
	latest                         moment // that a poll is dated; never if there is none
}

// keepCounters writes down the last numbers given out. Whatever deletes rows that
// may be the newest does so in the same transaction: what the table still holds
// does not tell how far its numbers went. That of changes SQLite keeps by itself.
func (b *batch) keepCounters() error {
	for name, last := range map[string]int64{
		"source": b.next.source, "body": b.next.body, "envelope": b.next.envelope, "label": b.next.label, "outcome": int64(b.next.outcome), "match": int64(b.next.match), "parcel": int64(b.next.parcel),
	} {
		if err := b.put(&countersTable, name, last); err != nil {
			return err
		}
	}
	return nil
}

// readCounters returns the last numbers given out, as far as the tables and what
// was written down tell.
func readCounters(ctx context.Context, tx *sql.Tx) (next counter, err error) {
	var outcome, change, match int64
	err = tx.QueryRowContext(ctx, `SELECT
		max(ifnull((SELECT last FROM counters WHERE name = 'source'), 0), (SELECT ifnull(max(key), 0) FROM sources)),
		max(ifnull((SELECT last FROM counters WHERE name = 'body'), 0), (SELECT ifnull(max(id), 0) FROM bodies)),
		max(ifnull((SELECT last FROM counters WHERE name = 'envelope'), 0), (SELECT ifnull(max(id), 0) FROM envelopes)),
		max(ifnull((SELECT last FROM counters WHERE name = 'label'), 0), (SELECT ifnull(max(id), 0) FROM labels)),
		max(ifnull((SELECT last FROM counters WHERE name = 'outcome'), 0), (SELECT ifnull(max(cursor), 0) FROM outcomes), (SELECT ifnull(max(upto), 0) FROM marks)),
		max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0), (SELECT ifnull(max(cursor), 0) FROM changes)),
		(SELECT ifnull(max(key), 0) FROM queries),
		max(ifnull((SELECT last FROM counters WHERE name = 'match'), 0), (SELECT ifnull(max(cursor), 0) FROM matches)),
		max(ifnull((SELECT last FROM counters WHERE name = 'parcel'), 0), (SELECT ifnull(max(cursor), 0) FROM parcels)),
		(SELECT max(latest) FROM marks)`).
		Scan(&next.source, &next.body, &next.envelope, &next.label, &outcome, &change, &next.query, &match, &next.parcel, &next.latest)
	next.outcome, next.change, next.match = freshet.Cursor(outcome), freshet.Cursor(change), freshet.Cursor(match)
	return next, err
}

// A tombstone is what is left of a source that was purged: its last numbers.
type tombstone struct {
	version, change, revision int64
}

// tombstone returns the last numbers of the sources with an ID that were purged.
func (b *batch) tombstone(id freshet.SourceID) (t tombstone, err error) {
	err = b.query("SELECT version, change, revision FROM tombstones WHERE id = ?", []driver.Value{string(id)}, func(v []driver.Value) error {
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
