package sqlite_test

import (
	"sync/atomic"
	"testing"

	"freshet/internal/features"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/storetest"
)

// TestStore runs the suite. Every other time a store is opened it has
// standings that are written after every third outcome, a cache that holds
// next to nothing and transactions of no more than three callers.
func TestStore(t *testing.T) {
	var opened atomic.Int64
	storetest.Run(t, func(t *testing.T, dir string) storetest.Store {
		cfg := sqlite.Config{Features: features.All(), Dir: dir}
		if opened.Add(1)%2 == 0 {
			cfg.FlushEvery, cfg.CacheBytes, cfg.Batch = 3, 1000, 3
		}
		return open(t, cfg)
	})
}

// open opens a store or stops the test.
func open(t testing.TB, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	cfg.Features = features.All()
	s, err := sqlite.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return s
}
