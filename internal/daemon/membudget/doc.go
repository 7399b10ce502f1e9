// Package membudget shares out the memory that polls under way may hold.
//
// A [Budget] is a number of bytes. Each poll has a [Share] of it that grows with
// the body it reads. Small bodies nearly always find room. A large one waits its
// turn, and turns are given so that no two polls can wait for each other.
// [Machine] says how much memory there is to share out.
//
// A limit per page bounds nothing in sum, and the need of a page is known only
// after decoding. Reserving the worst case would allow only a few polls at once,
// and growing step by step deadlocks. A turn breaks the deadlock: its holder may
// take all that it can ever need. Waiting for memory counts against no host.
package membudget
