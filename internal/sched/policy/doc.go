// Package policy holds the ways of choosing what to poll next, one to a file.
//
// A policy ranks; the scheduler around it (package sched) keeps the budget,
// the politeness and each source's bounds. Policies keep their state in flat
// slices indexed by [freshet.Slot], read no clock and draw no chance of their
// own, so the same calls give the same choices in the daemon and in the lab.
package policy
