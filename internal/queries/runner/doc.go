// Package runner keeps queries running. A Runner follows the logs of changes and
// outcomes, holds what happened against the queries, and keeps what matched in the log of
// matches, together with what it needs to go on from there: a crash loses no match and
// makes none twice.
//
// A query begins where the store says: with the first change after it was added, or
// earlier. One that begins earlier catches up in a lane of its own and joins the others
// where they are, so that nobody waits for it.
package runner
