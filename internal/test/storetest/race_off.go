//go:build !race

package storetest

// raced reports whether the race detector is at work, which makes some stores
// twenty times as slow.
const raced = false
