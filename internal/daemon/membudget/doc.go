// Package membudget shares out the memory that polls under way may hold.
//
// A [Budget] is a number of bytes. Each poll has a [Share] of it that grows with
// the body it reads. Small bodies nearly always find room. A large one waits its
// turn, and turns are given so that no two polls can wait for each other.
// [Machine] says how much memory there is to share out.
package membudget
