// Package delivery brings changes to those who asked to be told of them.
//
// [Sinks] are all that are told: those of the configuration file and those that came over
// the API. What kinds there are, and how each is spoken to, is for package sink to know.
// For each sink a [Follower] reads the log of changes: it records a delivery for every change
// that the sink wants, and tries each on a schedule of its own until it is accepted
// or given up. What it follows is a stream of events with cursors; all that it asks of the
// store is in [freshet.ChangeLog] and [freshet.Outbox].
//
// A delivery is made at least once and under the same id however often it is
// tried; it can come twice. Changes of one source come in order; those of
// different sources can overtake each other. Receivers drop what they have seen by its
// id. The message of a delivery is stored with it and sent as the same
// bytes on every attempt. All of a Follower's state is in the store, so that a
// restart loses no delivery.
package delivery
