// Package estimate holds the ways of telling how likely sources are to change,
// one to a file.
//
// [Exact] and [Noisy] read the history that a replay will run, and say what is
// known before a policy decides: all of it, or all of it blurred. [Constant]
// takes all sources for alike. [Poisson] learns a rate for each source from
// what polls found. All implement [freshet.Estimator]: plain state by slot,
// without a clock, the same answers to the same calls.
package estimate
