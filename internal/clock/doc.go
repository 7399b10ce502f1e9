// Package clock tells the time to the daemon: one that never jumps, to decide
// by, and that of the wall clock, to show and to keep.
//
// The wall clock of a machine can be set ahead or back at any moment. A wait that
// was reckoned by it then ends at once, or not for years. So everything that
// waits goes by the time since the program began, and dates are made of that time
// by adding how far the wall clock has been seen to jump.
package clock
