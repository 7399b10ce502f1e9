package frontier_test

import (
	"database/sql"
	"freshet/internal/features"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
)

// Pages of a state are found by it, in their order, without going through the others.
func TestPagesAreFoundByState(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, query := range frontier.Statements {
		rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+strings.ReplaceAll(query, "?", "1"))
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(plan, "; "); !strings.Contains(all, "USING INDEX pages_") || strings.Contains(all, "TEMP B-TREE") {
			t.Errorf("%s are found by %s", name, all)
		}
	}
}
