//go:build crash

package main

// defaultKills is how often the daemon is killed in a campaign of its own.
const defaultKills = 200
