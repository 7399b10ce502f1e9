package store

import (
	"context"
	"database/sql/driver"
)

// A DB is the database as a feature sees it that keeps tables of its own: it reads rows with
// SQL, and writes them in the transactions that polls share. The schema of all tables is in
// the packages of the databases, and table.go lists what checksums cover; which statements
// use a table only its feature knows.
type DB struct{ store *Store }

// DB returns the database of the store.
func (s *Store) DB() *DB { return &DB{s} }

// Each passes each row of the answer to a query to row. Statements are prepared once, so
// there must be few different ones.
func (d *DB) Each(ctx context.Context, doing, query string, args []any, row func(scan func(...any) error) error) error {
	return d.store.fault(doing, eachRow(ctx, d.store.reader, query, args, row))
}

// Write calls do in the next transaction, and returns when it is committed and synced. An
// error of do undoes only what do has written. It may be called more than once.
func (d *DB) Write(ctx context.Context, doing string, do func(*Tx) error) error {
	return d.store.write(ctx, doing, func(b *batch) error { return do(&Tx{b}) })
}

// A Tx is a transaction that writes. Every row gets its checksum. Tables are given by name;
// values are in the order of their columns in table.go.
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
	return tx.batch.insert(tableNamed(table), values...)
}

// Put writes a row, in place of the one with the same key if there is one.
func (tx *Tx) Put(table string, values ...driver.Value) error {
	return tx.batch.put(tableNamed(table), values...)
}

// Amend changes the rows for which a condition holds.
func (tx *Tx) Amend(table, where string, args []driver.Value, change func(row []driver.Value)) error {
	return tx.batch.amend(tableNamed(table), where, args, change)
}

// Remove deletes the rows for which a condition holds.
func (tx *Tx) Remove(table, where string, args ...driver.Value) error {
	return tx.batch.remove(tableNamed(table), where, args...)
}

// Rows returns how many rows a table has.
func (tx *Tx) Rows(table string) int64 {
	return tx.batch.next.seals[tableNamed(table).seal].upto
}

// tableNamed returns a table that features write to. A name that is none is a mistake of the
// program.
func tableNamed(name string) *table {
	for _, t := range sealedTables {
		if t.name == name && !t.seal.isLog() {
			return t
		}
	}
	panic("store: no table " + name)
}
