// Package delivery has the nodes of a cluster share the deliveries to sinks.
//
// The brain alone keeps the books: what each sink is owed, in which bytes and in which order.
// What it gives to other nodes is one attempt at a time. A [Dispatch] is its end: it picks the
// node of a sink, gives it the message, and waits for how that went. A [Courier] is the end of
// a node that stands by: it opens the sink by its own settings and with its own secrets, and
// sends.
//
// An attempt must be over before the next one of its source begins, and die with the brain that
// ordered it. So a node begins one only until a time by its own count that the brain has said,
// and gives it up after as long as an attempt may take. A brain that hears nothing of an order
// waits for that long, and then has the same message sent by another: it may come twice, and
// never not at all.
package delivery
