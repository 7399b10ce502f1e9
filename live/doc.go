// Package live is the World of the daemon: the network, the wall clock and the
// archive.
//
// A [Daemon] watches the sources of a store. Its Run drives the scheduler of
// package sched; each poll is fetched, read, compared and committed by a
// goroutine of its own, and only a committed outcome is told to the scheduler.
// A poll is on record before its request leaves, so that a crash can neither
// overspend the budget nor shorten the politeness owed to a host.
//
// Outcomes are told in the order of the log, so that what is learnt from them
// is what the log teaches. It is saved from time to time, and the next start
// takes it up from there.
//
// When the store cannot write, polls wait and nothing is fetched; what was
// fetched already waits too, and is committed when the store has recovered.
package live
