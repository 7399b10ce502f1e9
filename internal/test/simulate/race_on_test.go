//go:build race

package simulate

// raced says that the race detector is at work, which has goroutines run in any
// order and everything take ten times as long.
const raced = true
