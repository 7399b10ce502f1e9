// Package freshet defines the types that all features share: a system that turns
// pull-based Web sources into a stream of changes under a poll budget.
//
// A [Source] is a place on the Web whose changes are captured. A [Poll] is a
// decision to look at one; an [Outcome] is how the poll ended. When the text
// extracted from a response differs from the text seen before, the poll has
// captured a new [Version], and the step from the old version to the new one
// is a [Change]. Outcomes and changes are append-only logs: everything else
// (learner state, deliveries, statistics) reads them and can be rebuilt.
//
// A [Policy] decides what to poll next, with the estimates of an [Estimator].
// Both are deterministic: they read no clock, start no goroutine and use no
// network, so the simulator and the daemon make the same decisions. Package
// sched enforces the budget and the politeness around them.
//
// A [Store] keeps sources, versions and logs. A [Fetcher] fetches responses.
// Take the narrowest interface of the Store that does the job.
//
// The settings of a source have packages of their own below this one: reading
// (recipes), profile (requests), rendering, timetable (strategies), crawl
// (sites), objective and suspect. Package evidence holds what sources say about
// changes, and failure the classes of failed polls.
package freshet
