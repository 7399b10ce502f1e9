// Package worker makes one look at a source: a task goes in, a result comes out.
//
// A [Worker] fetches, reads and compares. It has no state and opens no store: the
// [Task] brings all that a look needs, and the [Result] carries away all that
// it found. So a worker can work beside the store or on another machine.
//
// A worker dates nothing. It measures how long the answer took; the daemon that gave
// the task dates the poll.
package worker
