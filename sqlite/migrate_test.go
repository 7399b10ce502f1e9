package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"freshet"
	"freshet/sqlite"
)

// A store that the first schema wrote is brought forward, and what it holds
// comes along.
func TestMigratesForward(t *testing.T) {
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile("migrations/00001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, stmt := range []string{
		strings.TrimPrefix(string(first), "-- +goose Up"),
		"CREATE TABLE schema_versions (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO schema_versions (version_id, is_applied) VALUES (0, 1), (1, 1)",
		`INSERT INTO sources (key, id, url, recipe, name, tags, weight, paused, min_gap, max_gap, keep_age, keep_versions, keep_bytes, origin)
			VALUES (1, 'old', 'https://old.example/', '{}', 'Old', '["a"]', 2, 0, 0, 0, 0, 0, 0, 'api')`,
		"INSERT INTO standings (source) VALUES (1)",
	} {
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatalf("%.60s: %v", stmt, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	old, err := s.Source(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	if old.Weight != 2 || old.Name != "Old" || old.Life != (freshet.Life{}) || !old.Urgency.Equal(freshet.Urgency{}) || old.Level != (freshet.ServiceLevel{}) {
		t.Errorf("the old source comes back as %+v", old.Source)
	}
}
