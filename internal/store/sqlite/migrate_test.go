package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	_ "modernc.org/sqlite"

	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/store/sqlite"
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

// Whatever was said of a source before definitions were documents is said of it
// still, and time that had no unit counts seconds.
func TestMigratesDefinitions(t *testing.T) {
	put := func(key int, id, set string) []string {
		return []string{
			fmt.Sprintf(`INSERT INTO sources (key, id, url, recipe, name, tags, weight, paused, min_gap, max_gap, keep_age, keep_versions, keep_bytes, origin, created)
				VALUES (%d, '%s', 'https://%s.example/', '{}', '', '[]', 0, 0, 0, 0, 0, 0, 0, 'api', 1000000000)`, key, id, id),
			fmt.Sprintf("UPDATE sources SET origin = 'file' %s WHERE key = %d", set, key),
			fmt.Sprintf("INSERT INTO standings (source) VALUES (%d)", key),
		}
	}
	minute := time.Minute
	tests := []struct {
		set  string
		want freshet.Source
	}{
		{"", freshet.Source{}},
		{`, name = 'A "name"', tags = '["a","two words","a,b",""]'`, freshet.Source{Name: `A "name"`, Tags: []string{"a", "two words", "a,b", ""}}},
		{", tags = 'null'", freshet.Source{}},
		{`, recipe = '{"kind":"html","css":"main \u003e p[x=\"y\"]"}'`, freshet.Source{Recipe: freshet.Recipe{Kind: freshet.HTML, CSS: `main > p[x="y"]`}}},
		{", weight = 2.5, cost = 0.1, paused = 1", freshet.Source{Weight: 2.5, Cost: 0.1, Paused: true}},
		{", min_gap = 60000000000, max_gap = 90000000001", freshet.Source{MinGap: minute, MaxGap: 90*time.Second + 1}},
		{", keep_age = 60000000000, keep_versions = 7, keep_bytes = 1099511627777", freshet.Source{Keep: freshet.Keep{Age: minute, Versions: 7, Bytes: 1<<40 + 1}}},
		{", keep_versions = 7", freshet.Source{Keep: freshet.Keep{Versions: 7}}},
		{", life = 'append', urgency = 'exp:0.9', level = '99.5% within 1m30s'", freshet.Source{
			Life: freshet.Life{Kind: freshet.LifeAppend}, Urgency: freshet.Urgency{Kind: freshet.UrgencyExp, A: 0.9}, Level: freshet.ServiceLevel{Share: 0.995, Within: 90 * time.Second},
		}},
		{", life = 'window:600', urgency = 'window:60'", freshet.Source{
			Life: freshet.Life{Kind: freshet.LifeWindow, For: 10 * minute}, Urgency: freshet.Urgency{Kind: freshet.UrgencyWindow, Width: minute},
		}},
		{", life = 'last:3', urgency = 'poly:2'", freshet.Source{Life: freshet.Life{Kind: freshet.LifeLast, N: 3}, Urgency: freshet.Urgency{Kind: freshet.UrgencyPoly, A: 2}}},
		{", urgency = 'polyexp:2,0.5'", freshet.Source{Urgency: freshet.Urgency{Kind: freshet.UrgencyPolyexp, K: 2, A: 0.5}}},
		{", urgency = 'chordal:0.5'", freshet.Source{Urgency: freshet.Urgency{Kind: freshet.UrgencyChordal, Width: 500 * time.Millisecond}}},
		{", urgency = 'chordal:1e-07'", freshet.Source{Urgency: freshet.Urgency{Kind: freshet.UrgencyChordal, Width: 100}}},
		{", urgency = 'table:1,0.5'", freshet.Source{Urgency: freshet.Urgency{Kind: freshet.UrgencyTable, Table: []float64{1, 0.5}}}},
		{", urgency = 'exp:0.9/1m', life = 'window:1h'", freshet.Source{
			Life: freshet.Life{Kind: freshet.LifeWindow, For: time.Hour}, Urgency: freshet.Urgency{Kind: freshet.UrgencyExp, A: 0.9, Per: minute},
		}},
	}
	var stmts []string
	for i, tt := range tests {
		stmts = append(stmts, put(i+1, fmt.Sprintf("s%02d", i), tt.set)...)
	}
	dir := written(t, 5, stmts...)
	for range 2 { // as migrated, and as written again
		s := open(t, sqlite.Config{Dir: dir})
		for i, tt := range tests {
			id := freshet.SourceID(fmt.Sprintf("s%02d", i))
			got, err := s.Source(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			want.ID, want.URL, want.Origin, want.Created, want.Revision = id, "https://"+string(id)+".example/", freshet.FromFile, time.Unix(1, 0).UTC(), got.Revision
			got.Created = got.Created.UTC()
			if diff := cmp.Diff(want, got.Source, cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare)); diff != "" || got.Revision < 1 || got.Revision > 2 {
				t.Errorf("%s in revision %d (-want +got):\n%s", tt.set, got.Revision, diff)
			}
			if _, err := s.AddSource(t.Context(), freshet.Source{URL: want.URL, Recipe: want.Recipe}); !errors.Is(err, freshet.ErrConflict) {
				t.Errorf("%s: adding it again gives %v, want a conflict", tt.set, err)
			}
			if err := s.UpdateSource(t.Context(), got.Source); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
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
			f, err := delivery.NewFollower(t.Context(), delivery.FollowerConfig{Render: func(_ context.Context, c freshet.Change) ([]byte, error) { return json.Marshal(sinks.Envelope(c, "")) },
				Name: tt.sink, Store: delivery.NewStore(s, s.DB()), Endpoint: tt.endpoint, Workers: 1,
				Send: func(_ context.Context, m sinks.Message) (string, error) { sent = append(sent, m.ID); return "", nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if place, err := sinks.NewStore(s.DB()).Place(t.Context(), tt.sink); err != nil || place.Cursor != tt.place {
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
			if place, err := sinks.NewStore(s.DB()).Place(t.Context(), reader); err == nil {
				t.Errorf("there is still a reader %q, at %d", reader, place)
			}
		}
	})
}

// A store from before there were suspects keeps the checksums that its rows had:
// nothing is summed up again, which would hide damage.
func TestMigratesWithoutNewChecksums(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, text := range []string{"one", "two", "three"} {
		_, _, err := s.Commit(t.Context(), freshet.Record{
			Outcome: freshet.Outcome{Source: "a", Began: began, Ended: began, Result: freshet.Changed, Status: 200, Requests: 1},
			Capture: &freshet.Capture{Text: []byte(text), Hash: freshet.HashOf([]byte(text)), Raw: freshet.Raw{Status: 200, Body: []byte(text)}},
		})
		if began = began.Add(time.Minute); err != nil {
			t.Fatalf("poll %d: %v", i+1, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{
		"outcomes.suspect", "outcomes.landed", "outcomes.fresh", "standings.suspect", "standings.landed", "standings.fresh", "standings.belied",
		"versions.suspect", "changes.suspect", "changes.landed", "versions.quiet", "outcomes.quiet", "outcomes.look_again",
		"standings.newest", "standings.held", "standings.quiet_suspect", "standings.quiet_noise", "versions.picture", "versions.fields", "changes.details",
	} {
		table, name, _ := strings.Cut(column, ".")
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", table, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(), `DROP INDEX changes_by_before; DROP INDEX sources_by_site; ALTER TABLE sources DROP COLUMN site; DROP TABLE pages; DROP TABLE shelves; DROP TABLE sinks; DROP TABLE evidence;
		DROP INDEX debts_by_due; DROP INDEX debts_in_line; ALTER TABLE debts DROP COLUMN source; ALTER TABLE debts DROP COLUMN waits; ALTER TABLE debts DROP COLUMN event; ALTER TABLE debts DROP COLUMN query; ALTER TABLE debts DROP COLUMN about; ALTER TABLE places DROP COLUMN stream; CREATE INDEX debts_by_due ON debts (reader, due, change);
		DROP TABLE queries; DROP TABLE matches; DROP TABLE parcels; DROP TABLE query_notes; DROP TABLE users; DROP TABLE passes; DROP TABLE deeds; DROP TABLE answers; DROP TABLE moves; ALTER TABLE epochs DROP COLUMN match;
		DELETE FROM seals WHERE name IN ('queries', 'matches', 'parcels', 'query_notes', 'pages', 'shelves', 'sinks', 'evidence'); DELETE FROM schema_versions WHERE version_id >= 10`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("the migrated store is damaged: %v", err)
	}
	if _, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{
		Source: "a", Began: began, Ended: began, Result: freshet.Unchanged, Suspect: freshet.SuspectEmpty, FreshFor: time.Hour,
	}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("the store is damaged after it was written again: %v", err)
	}
}
