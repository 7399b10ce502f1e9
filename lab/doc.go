// Package lab is the World of the simulator: recorded or generated histories
// of change, virtual time, and scores that know the truth.
//
// A [Trace] says when each source changed. [Replay] lets a scheduler loose on
// it: the loop is that of package sched, the one the daemon runs, so a policy
// makes the same polls at the same instants here and there. A [Score] then
// says what was captured, what was missed, and how late.
package lab
