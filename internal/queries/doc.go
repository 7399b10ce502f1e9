// Package queries runs continuous queries over the log of changes: somebody states once
// what they want to hear of, and hears of it for as long as they like.
//
// [Check] judges a query as a person wrote it: its condition is CEL, and a mistake is
// told with its line and column. An [Engine] holds many queries. It is told each
// [Event], which is a change or how a poll ended, and each moment at which something is
// due, and returns the matches. A [Pace] then says which matches are told now and which
// wait for a digest, for the end of quiet hours, or for room under a rate.
//
//	e := queries.NewEngine()
//	err := e.Put(q)                   // for each query; also while it runs
//	need := e.Needs(subject)          // what the queries look at in a change of this source
//	matches := e.Tell(event)          // in the order of the logs
//	matches = e.Tick(now)             // when e.Due() has come
//	for note := range e.Save() { ... }   // what is other since the last Save
//
// The cost of an event grows with the matches, not with the queries. Queries are found
// by their scope first. Within a scope, conditions of one shape share one program, and
// their constants stand in an index: texts that are looked for, values to be equal to,
// bounds for numbers. Only conditions that fit no index are evaluated one by one.
//
// Time passes only by what the engine is told, and nothing in it is drawn by chance.
// So an engine that is restored from its notes and told the events since then once more
// finds the same matches under the same numbers. Notes and matches belong into one
// transaction, with the moments of ticks among the events.
package queries
