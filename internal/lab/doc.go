// Package lab is the World of the simulator: recorded or generated histories
// of change, virtual time, and scores that know the truth.
//
// A [History] says when each page changed, as a trace file does. Laid on a
// [Grid] of equal instants it is what the papers compute with: a page changes
// in an instant or does not, and a poll at the end of an instant sees what has
// happened up to then. [Replay] lets a policy loose on a grid. The loop is that
// of package sched, the one the daemon runs, so what the lab says of a policy
// is true of the daemon. A [Score] says what was captured, what was missed, and
// how late; [Grid.Limit] says what a schedule that knew every change beforehand
// could have captured.
//
// There is one virtual world. Its [Options] say whether time goes by instants or
// is continuous as in the daemon, how long polls take, how they fail, what hosts
// and workers allow, and which sources come and go meanwhile.
package lab
