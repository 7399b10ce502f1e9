// Package robots reads robots.txt files as RFC 9309 says, and answers whether a program
// may ask for a page.
//
// [Parse] reads a file, [File.For] takes from it what is meant for one program, and
// [Rules.Verdict] answers for a path, with the line that decided. A [Standing] is what
// is known of the robots.txt of one origin over time: it takes how each read of the
// file ended, and says what may be requested meanwhile. Nothing here reads a clock or
// opens a connection.
package robots
