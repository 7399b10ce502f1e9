// Package delivery delivers changes and matches to sinks.
//
// [Sinks] are those of the configuration file and those added over the API; package sinks has their
// kinds. For each sink a [Follower] reads the log of changes or of batches, records a delivery for
// every entry that the sink wants, and tries each on a schedule of its own until it is accepted or
// becomes a dead letter.
//
// A delivery is made at least once, under the same id and with the same bytes on every attempt;
// receivers drop duplicates by the id. Changes of one source come in order; those of different
// sources can overtake each other. All of a Follower's state is in the store, so that a restart loses
// no delivery.
package delivery
