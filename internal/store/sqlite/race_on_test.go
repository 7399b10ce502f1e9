//go:build race

package sqlite_test

// raced reports whether the race detector is at work, which makes SQLite
// twenty times as slow.
const raced = true
