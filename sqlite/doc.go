// Package sqlite keeps everything in one file: sources, outcomes, versions,
// changes, and what readers and estimators have to remember. It implements
// [freshet.Store].
//
// What it promises. When Begin or Commit returns, the record has been synced
// to disk (WAL, synchronous=FULL). Commit is all or nothing. A body is checked
// against its hash whenever it is read. After a sync has failed the store
// writes nothing until it is opened again, because nobody can know what is on
// disk; after a full disk it may be tried again.
//
// How damage is found. Every row has a checksum; in the logs it covers the entry
// before, and where a log ends, or how many rows another table has, is kept as a
// seal. What is taken out of a log leaves a cut, with the checksums around it.
// Verify reads all of it once. Whoever writes a row therefore does so by insert,
// put, amend, remove or appendTo, with the columns that table.go lists.
//
// How it is fast. Callers that arrive while a transaction is being synced are
// gathered into the next one, so many polls share one sync. One process
// writes, held to it by a lock on the directory, so it hands out all numbers
// from memory, and a poll that found nothing new appends one row to the log:
// what the log adds up to is kept in memory and written now and then.
//
// How it is small. Each version is compressed against its predecessor, with a
// whole one now and then so that none is far to reach.
package sqlite
