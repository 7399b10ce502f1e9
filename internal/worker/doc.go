// Package worker makes one look at a source: an order goes in, what was found
// comes out.
//
// A [Hand] fetches, reads and compares. It has no state and opens no store: the
// [Order] brings all that a look needs, and the [Finding] carries away all that
// it found. So a hand can work beside the store or on another machine.
//
// A hand has no say about time. It measures how long the answer took; when the
// poll began is stamped by whoever gave the order.
package worker
