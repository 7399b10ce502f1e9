// Package client talks to a Freshet daemon over its HTTP API. Its types are
// what the API is written in: the daemon answers with them, and the command
// line prints them.
//
//	c := client.New("http://127.0.0.1:8080", http.DefaultClient.Do)
//	sources, err := c.Sources.List(ctx, client.SourceQuery{Tag: "shop"})
//
// A Client opens no connection itself. It sends its requests through the
// function that it is given, so that the caller chooses the network, or none:
// [InProcess] has a handler of this process answer.
//
// What the API refuses comes back as a [*Problem]. It says which field is
// wrong, and errors.Is finds freshet.ErrNotFound, freshet.ErrConflict and
// freshet.ErrStale in it.
package client
