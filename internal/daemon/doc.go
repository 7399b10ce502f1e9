// Package daemon is the World of the daemon: the network, the wall clock and the
// store.
//
// A [Daemon] watches the sources of a store. Three parts share the work. The
// leader decides what to poll: it drives the scheduler of package sched, and
// learns. The recorder stores polls and their outcomes. The worker, of package
// worker, looks. Everything else follows the log or asks the loop: statistics,
// forecasts, service levels, checkpoints, pruning.
//
// A poll is recorded before its request is sent, so that a crash can neither
// overspend the budget nor shorten the politeness owed to a host. The leader learns
// of its end from the log of outcomes, in the order of the log, so that its state
// follows from the log. That state is checkpointed from time to time; the next start
// restores a checkpoint and follows the log on.
//
// When the store cannot write, polls wait and nothing is fetched; results that were
// fetched already wait too, and are committed when the store has recovered.
package daemon
