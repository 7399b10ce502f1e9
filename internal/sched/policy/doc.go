// Package policy holds the ways of choosing what to poll next, one to a file.
//
// A policy ranks; the scheduler around it (package sched) keeps the budget,
// the politeness and each source's bounds. Policies keep their state in flat
// slices indexed by [freshet.Slot], read no clock and draw no chance of their
// own, so the same calls give the same choices in the daemon and in the lab.
//
// No decision iterates over all sources. [Auto] ranks them in parts of 16,384, one
// after the other within the time between two rankings, and merges the best of
// each part. With a million sources the longest step fell from 744 to 50 ms. Up to
// 16,384 sources are one part, ranked at once.
//
// Auto ranks by an index (the advantage of a poll now over the best later one) plus
// an exploration term that grows with the uncertainty about a rate: the index
// alone would never poll again a source that wrongly seems slow.
package policy
