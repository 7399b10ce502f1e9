// Package tier says how much a test does. There are three tiers:
//
//	make check      go test -short: pure packages, SQLite, goldens, one simulated seed
//	make test       everything that a change must pass: also PostgreSQL, Chromium, clusters, crashes
//	make test-long  FRESHET_TEST=long: many seeds, races, torture, fuzzing
package tier

import (
	"os"
	"os/exec"
	"testing"
)

// Slow skips a test in the shortest tier, and says why it takes long.
func Slow(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: " + why)
	}
}

// Long skips a test outside of the longest tier, and says why it takes so long.
func Long(t testing.TB, why string) {
	t.Helper()
	if !IsLong() {
		t.Skip("FRESHET_TEST is not long: " + why)
	}
}

// IsLong reports whether this is the longest tier.
func IsLong() bool { return os.Getenv("FRESHET_TEST") == "long" }

// Chromium skips a test in the shortest tier, and where Chromium is not installed.
func Chromium(t testing.TB) {
	t.Helper()
	Slow(t, "it starts Chromium")
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("Chromium is not installed: apt-get install chromium, or make setup")
	}
}

// Seeds returns how many seeds or rounds a test goes through: the number of its tier.
func Seeds(short, normal, long int) int {
	switch {
	case testing.Short():
		return short
	case IsLong():
		return long
	}
	return normal
}

// Cases returns the cases of a table that a test goes through: the first n, and all in the longest tier.
func Cases[T any](n int, all []T) []T {
	if IsLong() {
		return all
	}
	return all[:n]
}
