package sqlite_test

import (
	"testing"

	"freshet"
	"freshet/sqlite"
	"freshet/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, dir string) freshet.Store {
		return open(t, sqlite.Config{Dir: dir})
	})
}

// TestStoreFlushing runs the suite with standings that are written after every
// third outcome and a cache that holds next to nothing.
func TestStoreFlushing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, dir string) freshet.Store {
		return open(t, sqlite.Config{Dir: dir, FlushEvery: 3, CacheBytes: 1000, Batch: 3})
	})
}

// open opens a store or stops the test.
func open(t testing.TB, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return s
}
