// Package sqlite keeps everything in one file: sources, outcomes, versions,
// changes, and what readers and estimators have to remember. It implements
// [freshet.Store] on package tables, which says how.
//
// What it promises. When Begin or Commit returns, the record has been synced
// to disk (WAL, synchronous=FULL). After a sync has failed the store
// writes nothing until it is opened again, because nobody can know what is on
// disk; after a full disk it may be tried again. One process writes, held to it by a
// lock on the directory.
package sqlite
