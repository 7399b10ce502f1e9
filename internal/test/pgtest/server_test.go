package pgtest_test

import (
	"strings"
	"testing"

	"freshet/internal/test/pgtest"
)

// A server keeps its data and its address over a restart, and every test has a database of
// its own.
func TestServer(t *testing.T) {
	s := pgtest.Start(t)
	one, other := s.Database(t), s.Database(t)
	if one == other {
		t.Fatalf("two databases are called %s", one)
	}
	if _, err := s.Connect(t, one).Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n"); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	s.Resume(t)
	var n int
	if err := s.Connect(t, one).QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 7 {
		t.Errorf("after a restart it has %d, %v", n, err)
	}
	if err := s.Connect(t, other).QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the table is in the other database, too: %v", err)
	}
}
