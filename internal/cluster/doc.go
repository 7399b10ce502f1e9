// Package cluster lets workers on other machines carry out polls for a leader.
//
// The leader decides what to poll and is the only one that writes to the store. A worker has one
// stream to the leader and no store, no database password and no authoritative clock. [Pool] is the
// leader's end of the streams; [Worker] is the other end.
//
// A task must not outlive its leader. A worker therefore begins a request only while it holds a
// lease. The leader renews the lease with every pong, for no longer than its own lease lasts. A
// worker that was disconnected or suspended for longer than that sends no more requests. The leader
// counts a task of a lost worker as running until the worker's lease and the longest possible fetch
// are over, and as done after that.
//
// Tasks and results have a compact binary encoding; all other frames are JSON. The extraction
// settings of a source are sent to each worker once and then referred to by number; the numbers are
// valid for one stream.
package cluster
