// Package pgtest runs a PostgreSQL server for the tests of one package: in a directory of
// its own, on a port of its own, with TLS and a password, and gone when the test is.
//
// The server is the one that is installed, which `make setup` sees to. A test skips where
// there is none.
package pgtest
