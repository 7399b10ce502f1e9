// Package freshet is the vocabulary of a system that turns pull-based Web
// sources into a stream of changes under a poll budget.
//
// A [Source] is a place on the Web whose changes somebody wants. A [Poll] is a
// decision to look at one; an [Outcome] is how the poll ended. When the text
// extracted from a response differs from the text seen before, the poll has
// captured a new [Version], and the step from the old version to the new one
// is a [Change]. Outcomes and changes are append-only logs: everything else
// (what was learnt, deliveries, pictures) is a reader of them and can be rebuilt.
//
// What to poll next is decided by a [Policy], which may lean on an [Estimator]
// and what that has learnt of each source. Both are pure: they read no
// clock, start no goroutine and touch no network, so a decision made in the
// simulator is the decision the daemon makes. Package sched keeps the budget
// and the politeness around them and holds the one loop that drives polls.
//
// A [Store] keeps it all. A [Fetcher] brings responses. Both are interfaces
// because the tree has, or will have, more than one of each; take the
// narrowest side of the Store that does the job.
//
// This package imports only the standard library and nothing of this module,
// so that every other package can speak in its words.
package freshet
