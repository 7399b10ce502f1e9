// Package queries runs continuous queries over the log of changes, and keeps their matches in a log
// of their own.
//
// [Check] checks a [Query]: its condition is CEL, and a mistake is reported with its line and column.
// An [Engine] evaluates many queries over each [Event], which is a change or the outcome of a poll,
// and at each time at which something is due, and returns the matches. A [Pace] then decides which
// matches are delivered now, and which wait for a digest, for the end of quiet hours, or for the
// rate.
//
//	e, err := queries.NewEngine()
//	err = e.Put(q)                     // for each query; also while it runs
//	need := e.Needs(subject)           // what the queries look at in a change of this source
//	matches := e.Observe(event)        // in the order of the logs
//	matches = e.Tick(now)              // when e.Due() has come
//	for _, state := range e.Save() { } // what has changed since the last Save
//
// Queries are found by their scope first. Within a scope, conditions of one shape share one program,
// and a prefilter on their constants decides which are evaluated.
//
// An engine has no clock and no randomness. Restored from its state, and given the events since then
// again, it finds the same matches under the same numbers. State and matches are stored in one
// transaction.
//
// A [Runner] follows the logs of changes and outcomes and stores the matches together with its
// position: a crash loses no match and repeats none. A query begins with the first change after it
// was added, or earlier. One that begins earlier catches up in a lane of its own and joins the others
// where they are, so that none waits for it.
//
// [States.Eval] answers a query about the states of sources at one time instead, over the versions in
// the store. Its language puts from, where, by, sort and join around expressions in CEL.
package queries
