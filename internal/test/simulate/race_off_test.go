//go:build !race

package simulate

// raced says that the race detector is at work.
const raced = false
