// Package daemon is the World of the daemon: the network, the wall clock and the
// store.
//
// A [Daemon] watches the sources of a store. Three parts share the work. The
// leader decides what to poll: it drives the scheduler of package sched, and
// learns. The record puts polls into the store. The hand, of package hand, looks.
//
// A poll is on record before its request leaves, so that a crash can neither
// overspend the budget nor shorten the politeness owed to a host. The leader hears
// of its end from the log of outcomes, in the order of the log, so that what it
// learns is what the log teaches. What was learnt is saved from time to time; the
// next start takes it up from there, and follows the log on.
//
// When the store cannot write, polls wait and nothing is fetched; what was
// fetched already waits too, and is committed when the store has recovered.
package daemon
