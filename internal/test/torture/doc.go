// Package torture runs a real daemon against a small hostile web, breaks it in
// every way it knows, and checks from outside that every promise of
// docs/explanation/promises.md holds.
//
// A campaign ([Run]) is a series of episodes, each with a seed of its own. An
// episode has a web, receivers of webhooks, readers of the change stream and a
// data directory. It starts the daemon as a child process, lets it work for a
// moment, does something bad to it, and checks; then the next round. What is
// done, to whom and in which order follows from the seed; the timing does not.
//
// The judges are the web's log of requests, the receivers, the streams and the
// API. Only when an episode is over is the store opened, to see that it is whole.
//
// The daemon is either the shipped program or the same parts with a clock and a
// disk that obey the campaign ([Inside]).
package torture
