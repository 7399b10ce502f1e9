// Package postgres keeps everything in a PostgreSQL database. It implements
// [freshet.Store] on package tables, as package sqlite does.
//
// One process writes. It holds the lease, a row that every one of its transactions updates:
// a process that takes the lease raises its epoch, and from then on the transactions of the
// previous holder update no row, and fail. Times of the lease are those of PostgreSQL's clock alone.
// The row counts the transactions, too. When the connection is lost while one is being
// committed, that number tells whether it is in: it is made anew if it is not.
//
// Outcomes are in partitions by ranges of their cursors, so that old ones are dropped and
// not deleted. The index of what versions say is in tables of its own, without checksums.
//
// Texts may hold bytes that PostgreSQL takes for none: see driver.go.
package postgres
