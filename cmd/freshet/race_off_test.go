//go:build !race

package main

// raceMemory is by how much more memory a program takes with the race detector in it.
const raceMemory = 1
