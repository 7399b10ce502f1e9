// Command freshet watches pages, feeds and JSON endpoints under a poll budget,
// stores every version that it sees, and reports each change.
//
// This is the only place where all packages meet. Each verb has a file of its
// own; root.go lists them. The verbs that work on sources speak the HTTP API:
// of the daemon that holds the data directory if there is one, and otherwise of
// a handler in the same process over the same store, so that there is one way
// to do each thing whether or not a daemon runs.
package main
