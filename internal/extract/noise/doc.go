// Package noise tells noise from changes: what differs at nearly every poll while the
// rest of a page stays, and pages that flap between versions that are known.
//
// A [Memory] is what has been seen of one source so far, in a few kilobytes. It is
// given each step from one text of the source to the next, gives a [Verdict], and
// learns from the step. A step is noise only if all that differs in it is excused:
//
//   - a place in a line (a date, a time, an age, an id, a counter of views) that has
//     differed at nearly every poll before; the rest of the line has stayed,
//   - lines that have come and gone several times, as of two servers that disagree,
//   - lines between two that stay, where the same few take turns, as advertisements do,
//   - the order of lines, if it differs at nearly every poll,
//   - an age that went on ("3 hours ago", "4 hours ago") and an e-mail address that was
//     hidden from robots or shown; these need no history.
//
// What a user may be watching is never learnt as noise, however often it changes: prices, version
// numbers, plain numbers, words that say a state, and lines that were never seen before. A [Report]
// names such places all the same, with the step that would remove them; whether they are noise is for
// the user to say.
//
// The package reads no clock and draws no chance: the same steps give the same memory.
package noise
