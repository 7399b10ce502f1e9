// Package store is a [freshet.Store] on the tables of an SQL database: what packages
// sqlite and postgres have in common. They open the database, bring its schema up to date
// and say what its errors mean; all else is here, once.
//
// What it promises. When Begin or Commit returns, the record has been committed, and
// the database has synced it. Commit is all or nothing. A body is checked against its hash
// whenever it is read. After an error that leaves unknown what has been committed the store
// writes nothing until it is opened again.
//
// How damage is found. Every row has a checksum; in the logs it covers the entry
// before. Where a log ends, and how many rows another table has, is in the table seals. Entries
// deleted from a log leave a truncation, in the table cuts, with the checksums around it.
// Verify reads all of it once. Rows are therefore written only by insert, put, amend, remove
// and appendTo, with the columns of their [Table].
//
// What features keep. A [Feature] registers its own tables, with their schema, checks and
// repairs, and reads and writes them with a [DB].
//
// How it is fast. Callers that arrive while a transaction is being synced are
// gathered into the next one, so many polls share one sync. One process
// writes, so it hands out all numbers from memory, and a poll that found nothing new
// appends one row to the log: what the log adds up to is kept in memory and written now
// and then.
//
// How it is small. Each version is compressed against its predecessor, with a
// whole one now and then so that none is far to reach.
//
// Statements are written for both databases, with question marks for parameters. Three
// things in them are only there for the planner of SQLite, and mean nothing to another:
// (SELECT ?) for a parameter that is not to be looked at, CROSS JOIN for the order of
// tables, and INDEXED BY. A list is given as JSON, to (SELECT value FROM json_each(?)).
//
// How lists are fast. The writing process keeps a row for each source in memory,
// with the keys of all orders. A list stays sorted between requests; a poll only
// records in a journal that its row changed, and the next request moves those rows.
// SQL indexes on fields that every poll changes would cost every poll what they
// save a list.
package store
