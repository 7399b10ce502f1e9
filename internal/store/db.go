package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
)

// A DB is the database as a [Feature] uses it: it reads rows with SQL, and writes those of its own
// tables in the transactions that polls share.
type DB struct{ store *committer }

// DB returns the database of the store.
func (s *Store) DB() *DB { return &DB{s.committer} }

// Now returns the time by the clock of the store.
func (d *DB) Now() time.Time { return d.store.cfg.Now() }

// Each passes each row of the answer to a query to row. Statements are prepared once, so
// there must be few different ones.
func (d *DB) Each(ctx context.Context, doing, query string, args []any, row func(scan func(...any) error) error) error {
	return d.store.fault(doing, EachRow(ctx, d.store.reader, query, args, row))
}

// Write calls do in the next transaction, and returns when it is committed and synced. An
// error of do undoes only what do has written. It may be called more than once.
func (d *DB) Write(ctx context.Context, doing string, do func(*Tx) error) error {
	return d.store.write(ctx, doing, func(b *batch) error { return do(&Tx{b}) })
}

// A Tx is a transaction that writes. Every row gets its checksum. Tables are given by name; values are
// in the order of the columns of the [Table].
type Tx struct{ batch *batch }

// Query passes each row of the answer to row. Its values are valid only until row returns.
func (tx *Tx) Query(query string, args []driver.Value, row func([]driver.Value) error) error {
	return tx.batch.Query(query, args, row)
}

// Number returns the one integer that a query answers with, or zero.
func (tx *Tx) Number(query string, args ...driver.Value) (int64, error) {
	return tx.batch.Number(query, args...)
}

// Insert writes a new row.
func (tx *Tx) Insert(table string, values ...driver.Value) error {
	return tx.batch.insert(tx.table(table), values...)
}

// Put writes a row, in place of the one with the same key if there is one.
func (tx *Tx) Put(table string, values ...driver.Value) error {
	return tx.batch.put(tx.table(table), values...)
}

// Amend changes the rows for which a condition holds.
func (tx *Tx) Amend(table, where string, args []driver.Value, change func(row []driver.Value)) error {
	return tx.batch.amend(tx.table(table), where, args, change)
}

// Remove deletes the rows for which a condition holds.
func (tx *Tx) Remove(table, where string, args ...driver.Value) error {
	return tx.batch.remove(tx.table(table), where, args...)
}

// SourceKey returns the key of a source, zero if there is none, and whether it is watched.
func (tx *Tx) SourceKey(id freshet.SourceID) (key int64, watched bool) {
	e := tx.batch.entry(id)
	if e == nil {
		return 0, false
	}
	return e.key, !e.removed
}

// Source returns the source with a key, the zero source if there is none.
func (tx *Tx) Source(key int64) (freshet.Source, error) { return tx.batch.source(key) }

// AddSource adds a source as Store.AddSource does, without the hook of sites.
func (tx *Tx) AddSource(src freshet.Source) (freshet.Source, error) {
	return tx.batch.addSource(tidied(src))
}

// DropSource stops watching a source, or deletes all of it, without the hook of sites.
func (tx *Tx) DropSource(id freshet.SourceID, purge bool) error {
	e := tx.batch.entry(id)
	if e == nil {
		return fmt.Errorf("%w: source %s has no status", freshet.ErrDamaged, id)
	}
	return tx.batch.drop(e, purge)
}

// AppendChange appends a change of a source as a whole to the log, at a moment, without a poll.
func (tx *Tx) AppendChange(id freshet.SourceID, at time.Time, summary string, details freshet.Details) (freshet.Change, error) {
	b, e := tx.batch, tx.batch.entry(id)
	from, seen := e.hash, e.seen.Time()
	if details.Page == crawl.PageCame {
		from = freshet.Hash{}
	}
	if seen.After(at) { // the clock was set back
		seen = at
	}
	e.changedAt = MomentOf(at)
	c, err := b.change(e, freshet.Outcome{Since: seen, Ended: at}, from, summary, details)
	if err != nil {
		return c, err
	}
	return c, b.writeHead(e)
}

// Rows returns how many rows a table has.
func (tx *Tx) Rows(table string) int64 { return tx.batch.sums[tx.table(table).index].upto }

// table returns a table of a feature.
func (tx *Tx) table(name string) *table { return tx.batch.schema.featureTable(name) }

// last returns where a log ends.
func (c *counter) last(s *Schema, l Log) *freshet.Cursor {
	switch l {
	case Changes:
		return &c.change
	case Outcomes:
		return &c.outcome
	}
	return &c.logs[s.featureLog(l)]
}

// notifier returns the notifier of readers of a log.
func (s *mirror) notifier(l Log) *notifier {
	switch l {
	case Changes:
		return &s.changed
	case Outcomes:
		return &s.tail.notifier
	}
	return &s.derived
}

// Wait returns when a log continues after a place, or with the cause when ctx is done. It learns of
// what this process writes, and of what Refresh finds.
func (d *DB) Wait(ctx context.Context, l Log, after freshet.Cursor) error {
	return d.store.await(ctx, d.store.notifier(l), after, func() freshet.Cursor { return *d.store.next.last(d.store.schema, l) })
}

// Last returns the end of a log.
func (d *DB) Last(ctx context.Context, l Log) (freshet.Cursor, error) {
	return d.store.end(ctx, func() freshet.Cursor { return *d.store.next.last(d.store.schema, l) })
}

// Visible returns the end of what readers may see of a log: a transaction can be read a moment
// before it is applied.
func (d *DB) Visible(l Log) freshet.Cursor {
	next := d.store.applied()
	return *next.last(d.store.schema, l)
}

// Epochs returns the epochs of a log.
func (d *DB) Epochs(ctx context.Context, l Log) (freshet.Epochs, error) {
	found, err := d.store.epochsNow(ctx)
	switch l {
	case Changes:
		return found.changes, err
	case Outcomes:
		return found.outcomes, err
	}
	return found.derived, err
}

// End returns the end of a log, with what the transaction has appended.
func (tx *Tx) End(l Log) freshet.Cursor { return *tx.batch.next.last(tx.batch.schema, l) }

// Next returns the cursor of the next entry of a log of a feature, which the caller writes. Readers of
// the log are notified after the commit.
func (tx *Tx) Next(l Log) (freshet.Cursor, error) {
	at := tx.batch.schema.featureLog(l)
	if tx.batch.schema.logs[at].Epochs {
		if err := tx.batch.beginEpoch(); err != nil {
			return 0, err
		}
	}
	tx.batch.derived = true
	tx.batch.next.logs[at]++
	return tx.batch.next.logs[at], nil
}

// KeepCounters writes down the last numbers that were given out. Removing rows of a log that may be
// the newest requires it in the same transaction.
func (tx *Tx) KeepCounters() error { return tx.batch.keepCounters() }

// changesAtOnce is how many changes one statement reads: a statement costs far more than a row.
const changesAtOnce = 16

// The statements that read a change, and several.
const selectChange = "SELECT " + changeColumns + " FROM changes c" + changeJoins + "WHERE c.cursor = ?"

var selectChanges = "SELECT " + changeColumns + " FROM changes c" + changeJoins + "WHERE c.cursor IN (?" + strings.Repeat(", ?", changesAtOnce-1) + ")"

// ChangesAt returns the changes at some cursors, without those that were purged, in no order.
func (d *DB) ChangesAt(ctx context.Context, at []freshet.Cursor) (found []freshet.Change, err error) {
	for some := range slices.Chunk(at, changesAtOnce) {
		query, args := selectChange, []any{some[0]}
		if len(some) > 1 {
			query = selectChanges
			for i := 1; i < changesAtOnce; i++ {
				args = append(args, some[min(i, len(some)-1)])
			}
		}
		err := EachRow(ctx, d.store.reader, query, args, func(scan func(...any) error) error {
			c, err := scanChange(scan)
			found = append(found, c)
			return err
		})
		if err != nil {
			return nil, d.store.fault("reading changes", err)
		}
	}
	return d.store.withEpochs(ctx, found)
}
