// Package cluster lets hands on other machines make the looks of a daemon.
//
// The daemon is the leader: it decides, and alone writes. A worker has one stream to it and
// nothing else: no store, no password of a database, no clock that counts. [Pool] is the
// leader's end, which gives tasks to workers as if they were its own; [Worker] is the other.
//
// A task must die with its leader. So a worker begins a request only while it has the right
// to, which the leader renews with every pong for no longer than it is sure to be the leader.
// A worker that was cut off or stopped for long has lost the right when it wakes. Until then,
// and for as long as a look can take, the leader counts a task whose worker is gone as under
// way; after that as made.
//
// Tasks and results have a compact encoding: numbers and strings in a fixed order.
// Everything else is JSON. The extraction settings of a source are sent to each
// worker once, under a number; a broken stream takes the numbers with it. A test fills
// every field by reflection and compares what comes back.
package cluster
