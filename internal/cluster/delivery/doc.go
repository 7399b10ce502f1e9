// Package delivery has the nodes of a cluster share the deliveries to sinks.
//
// The leader alone records pending deliveries, their bytes and their order. To other nodes it gives
// single attempts. A [Dispatch] is the leader's side: it picks the node of a sink, sends it the message
// and waits for the result. A [Sender] is the side of a standby: it opens the sink with its own settings
// and secrets, and sends.
//
// An attempt must be over before the next one of its source begins, and end with the leader that ordered
// it. So a node begins an attempt only until a time by its own clock that the leader has set, and gives it
// up after the longest time that an attempt may take. A leader without an answer waits for that long, and
// then has another node send the same message: it may arrive twice, but is never lost.
package delivery
