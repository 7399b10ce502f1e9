// Command freshet watches pages, feeds and JSON endpoints under a poll budget,
// stores every version that it sees, and reports each change.
//
// A verb, or a group such as sink, is one file; root.go lists them. resource.go has
// what list, show, add, edit and remove of all groups share. Verbs call the HTTP
// API: of the daemon that uses the data directory or, if none is running, of a
// handler in this process over the same store. So there is one way to do each
// thing, with and without a daemon.
package main
