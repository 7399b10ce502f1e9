// Package app puts the parts together: a store, a daemon over it with its
// policy and learner, the API, and the sinks.
//
// [Open] is for a program that polls, or only looks into a store. [Serve] is a
// whole daemon, as "freshet serve" runs it. [Local] answers the API over a data
// directory in this process, where no daemon runs.
package app
