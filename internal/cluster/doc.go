// Package cluster lets hands on other machines make the looks of a daemon.
//
// The daemon is the brain: it decides, and alone writes. A hand has one stream to it and
// nothing else: no store, no password of a database, no clock that counts. [Hands] is the
// brain's end, which gives orders to hands as if they were its own; [Worker] is the other.
//
// An order must die with its brain. So a hand begins a request only while it has the right
// to, which the brain renews with every pong for no longer than it is sure to be the brain.
// A hand that was cut off or stopped for long has lost the right when it wakes. Until then,
// and for as long as a look can take, the brain counts an order whose hand is gone as under
// way; after that as made.
//
// Tasks and results have a compact encoding: numbers and strings in a fixed order.
// Everything else is JSON. The extraction settings of a source are sent to each
// worker once, under a number; a broken stream takes the numbers with it. A test fills
// every field by reflection and compares what comes back.
package cluster
