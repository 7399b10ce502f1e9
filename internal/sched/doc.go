// Package sched decides what to poll next, and drives polls.
//
// A [Scheduler] is a plain state machine: it starts no goroutine, reads no
// clock and does no I/O; time comes in as an argument. Around a
// [freshet.Policy], which only ranks, it keeps what must hold whatever the
// policy wants: the budget as a hard limit, the politeness owed to each
// host, one poll of a source at a time, and each source's own bounds.
//
// [Run] drives a Scheduler through a [World], which is where time passes and
// polls happen. The daemon's World is the network and the wall clock (package
// daemon); the lab's is a recorded trace and a virtual clock (package lab).
// There is no other loop, so what the lab says of a policy is true of the
// daemon.
//
// Above ten polls a second the policy is asked at most once in an eightieth of a
// second, or when an eighth of the workers is free again. An ask costs time for
// every source that it offers in vain, and events grow with the polls: asked at
// every event, a poll at 10,000 polls a second cost ten times as much as at 1,000;
// now it costs 1.3 times as much (BenchmarkLoop). Edits and requested polls do
// not wait.
package sched
