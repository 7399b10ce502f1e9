package store

import (
	"context"
	"database/sql/driver"

	"freshet/internal/freshet"
)

// A counter hands out the numbers of the tables that the writing process
// numbers itself.
type counter struct {
	source, body, envelope, label  int64
	outcome, change, match, parcel freshet.Cursor
	seals                          [sealsEnd]seal
	latest                         Moment // that a poll is dated; never if there is none
}

// keepCounters writes down the last numbers given out. Whatever deletes rows that
// may be the newest does so in the same transaction: what the table still holds
// does not tell how far its numbers went. That of changes is in its seal.
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
func readCounters(ctx context.Context, tx querier) (next counter, err error) {
	last := map[string]int64{}
	err = eachRow(ctx, tx, "SELECT name, last FROM counters", nil, func(scan func(...any) error) error {
		var name string
		var n int64
		err := scan(&name, &n)
		last[name] = n
		return err
	})
	if err != nil {
		return next, err
	}
	var outcome, upto, change, match int64
	err = eachRow(ctx, tx, `SELECT
		(SELECT coalesce(max(key), 0) FROM sources), (SELECT coalesce(max(id), 0) FROM bodies), (SELECT coalesce(max(id), 0) FROM envelopes),
		(SELECT coalesce(max(id), 0) FROM labels), (SELECT coalesce(max(cursor), 0) FROM outcomes), (SELECT coalesce(max(upto), 0) FROM marks),
		(SELECT coalesce(max(cursor), 0) FROM changes), (SELECT coalesce(max(cursor), 0) FROM matches),
		(SELECT coalesce(max(cursor), 0) FROM parcels), (SELECT max(latest) FROM marks)`, nil, func(scan func(...any) error) error {
		return scan(&next.source, &next.body, &next.envelope, &next.label, &outcome, &upto, &change, &match, &next.parcel, &next.latest)
	})
	next.source, next.body = max(next.source, last["source"]), max(next.body, last["body"])
	next.envelope, next.label = max(next.envelope, last["envelope"]), max(next.label, last["label"])
	next.outcome = freshet.Cursor(max(outcome, upto, last["outcome"]))
	next.change, next.match = freshet.Cursor(change), freshet.Cursor(max(match, last["match"]))
	next.parcel = max(next.parcel, freshet.Cursor(last["parcel"]))
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
