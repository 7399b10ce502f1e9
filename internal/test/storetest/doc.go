// Package storetest is the behaviour that every [freshet.Store] must show, as
// a suite of tests. A store that passes it can stand in for any other.
package storetest
