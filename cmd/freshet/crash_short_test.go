//go:build !crash

package main

// defaultKills is how often the daemon is killed beside the other tests.
const defaultKills = 8
