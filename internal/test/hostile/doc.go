// Package hostile has hostile web servers, for tests and benchmarks: they stall, flood,
// lie about lengths and codings, send bombs, and redirect for ever.
//
// A [Beast] treats each connection in its own bad way. A [Cage] holds beasts at
// addresses of their own on loopback, so that each is a host for itself.
package hostile
