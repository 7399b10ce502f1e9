package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	_ "modernc.org/sqlite"

	"freshet"
	"freshet/client"
	"freshet/deliver"
	"freshet/sqlite"
)

// written returns a directory with a store as an older Freshet left it: the
// first so many migrations made, and then the statements.
func written(t *testing.T, migrations int, stmts ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < migrations {
		t.Fatalf("there are only the migrations %v: %v", files, err)
	}
	all := []string{
		"CREATE TABLE schema_versions (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO schema_versions (version_id, is_applied) VALUES (0, 1)",
	}
	for i, file := range files[:migrations] {
		made, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimPrefix(string(made), "-- +goose Up"),
			fmt.Sprintf("INSERT INTO schema_versions (version_id, is_applied) VALUES (%d, 1)", i+1))
	}
	for _, stmt := range append(all, stmts...) {
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatalf("%.60s: %v", stmt, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

const oldSource = `INSERT INTO sources (key, id, url, recipe, name, tags, weight, paused, min_gap, max_gap, keep_age, keep_versions, keep_bytes, origin)
	VALUES (1, 'old', 'https://old.example/', '{}', 'Old', '["a"]', 2, 0, 0, 0, 0, 0, 0, 'api')`

// A store that the first schema wrote is brought forward, and what it holds
// comes along.
func TestMigratesForward(t *testing.T) {
	s := open(t, sqlite.Config{Dir: written(t, 1, oldSource, "INSERT INTO standings (source) VALUES (1)")})
	defer s.Close()
	old, err := s.Source(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	if old.Weight != 2 || old.Name != "Old" || old.Life != (freshet.Life{}) || !old.Urgency.Equal(freshet.Urgency{}) || old.Level != (freshet.ServiceLevel{}) {
		t.Errorf("the old source comes back as %+v", old.Source)
	}
}

// Sinks go on where a Freshet left them that kept their beginnings, and the
// endpoints that were gone, as the places of made-up readers.
func TestMigratesTheOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		change := func(cursor int) string {
			return fmt.Sprintf(`INSERT INTO changes (cursor, source, prev, seq, number, from_hash, to_hash, after, before, summary)
				VALUES (%d, 1, %d, %d, %d, zeroblob(32), zeroblob(32), 1, 2, 'x')`, cursor, cursor-1, cursor, cursor+1)
		}
		s := open(t, sqlite.Config{Dir: written(t, 4, oldSource,
			"INSERT INTO standings (source, changes, last_change) VALUES (1, 3, 3)", change(1), change(2), change(3),
			`INSERT INTO places (reader, place) VALUES ('read beginning', 1), ('read', 2), ('zero beginning', 1), ('late beginning', 3),
				('left beginning', 1), ('left', 1), ('left gone `+string(freshet.EndpointAt("https://one.example/"))+`', 3)`,
			"INSERT INTO debts (reader, change, attempts, due, err) VALUES ('read', 1, 3, 0, 'down'), ('read', 2, 10, NULL, 'down')",
		)})
		defer s.Close()
		tests := []struct {
			sink, endpoint string
			place          freshet.Cursor
			sent           []string
		}{
			{"read", "https://one.example/", 2, []string{"old.1", "old.3"}}, // a debt, and what was not read
			{"zero", "https://one.example/", 0, []string{"old.1", "old.2", "old.3"}},
			{"late", "https://one.example/", 2, []string{"old.3"}},
			{"left", "https://one.example/", 1, nil},
			{"left", "https://two.example/", 1, []string{"old.2", "old.3"}},
			{"new", "https://one.example/", 3, nil},
		}
		for _, tt := range tests {
			var sent []string
			f, err := deliver.NewFollower(t.Context(), deliver.FollowerConfig{
				Name: tt.sink, Store: s, Endpoint: tt.endpoint, Workers: 1,
				Send: func(_ context.Context, e client.Event) error { sent = append(sent, e.ID); return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if place, err := s.Place(t.Context(), tt.sink); err != nil || place != tt.place {
				t.Errorf("sink %s goes on at %d (%v), want %d", tt.sink, place, err, tt.place)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- f.Run(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("sink %s ended with %v", tt.sink, err)
			}
			if slices.Sort(sent); !slices.Equal(sent, tt.sent) {
				t.Errorf("sink %s at %s was sent %v, want %v", tt.sink, tt.endpoint, sent, tt.sent)
			}
		}
		for _, reader := range []string{"read beginning", "left gone " + string(freshet.EndpointAt("https://one.example/"))} {
			if place, err := s.Place(t.Context(), reader); err == nil {
				t.Errorf("there is still a reader %q, at %d", reader, place)
			}
		}
	})
}
