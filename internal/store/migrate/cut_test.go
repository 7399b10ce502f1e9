package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/migrate"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
)

// filled returns a data directory with a few sources and versions.
func filled(t *testing.T) string {
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for n := range 3 {
		id := freshet.SourceID(fmt.Sprintf("source%d", n))
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://a.example/" + string(id)}); err != nil {
			t.Fatal(err)
		}
		for v := range 3 {
			text := []byte(fmt.Sprintf("version %d of %s", v, id))
			began := at.Add(time.Duration(v) * time.Minute)
			_, _, err := s.Commit(t.Context(), freshet.Record{
				Outcome: freshet.Outcome{Source: id, Began: began, Ended: began, Result: freshet.Changed, Requests: 1},
				Capture: &freshet.Capture{Raw: freshet.Raw{Status: 200, Body: text}, Text: text, Hash: freshet.HashOf(text)},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// usable returns why a store cannot be used; nil if it can.
func usable(t *testing.T, where string) (err error) {
	t.Helper()
	var s interface {
		freshet.Store
		Close() error
	}
	if strings.HasPrefix(where, "postgres:") {
		s, err = postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: where})
	} else {
		s, err = sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: where})
	}
	if err != nil {
		return err
	}
	for n := range 3 {
		if text, err := s.Text(t.Context(), freshet.SourceID(fmt.Sprintf("source%d", n)), 3); err != nil || !strings.HasPrefix(string(text), "version 2") {
			t.Errorf("version 3 of source %d in %s is %q: %v", n, where, text, err)
		}
	}
	return s.Close()
}

func run(t *testing.T, cfg migrate.Config) (migrate.Result, error) {
	t.Helper()
	cfg.Now, cfg.Features = time.Now, features.All()
	return migrate.Run(t.Context(), cfg)
}

// wantConflict wants an error that names something, with a hint.
func wantConflict(t *testing.T, err error, named string) {
	t.Helper()
	if !errors.Is(err, freshet.ErrConflict) || !strings.Contains(err.Error(), named) || freshet.HintOf(err) == "" {
		t.Errorf("the error is %v (hint %q), want a conflict that names %q", err, freshet.HintOf(err), named)
	}
}

// TestMove tries what can become of a move. One server is enough for all.
func TestMove(t *testing.T) {
	y := newYard(t)
	for name, test := range map[string]func(*testing.T, *yard){
		"one store can be used":       oneStoreCanBeUsed,
		"store in use":                storeInUse,
		"cut off":                     moveIsCutOff,
		"cut off between the marks":   moveIsCutOffBetweenTheMarks,
		"fenced":                      fencedMove,
		"altered on the way":          alteredOnTheWay,
		"every table":                 everyTableIsMoved,
		"the moved store is the same": movedStoreIsTheSame,
		"there and back":              moveThereAndBack,
	} {
		t.Run(name, func(t *testing.T) { test(t, y) })
	}
}

// A move leaves one store that can be used, and the other says where the data went.
func oneStoreCanBeUsed(t *testing.T, y *yard) {
	dir, url := filled(t), y.fresh(t)
	looked, err := run(t, migrate.Config{From: dir, To: url, DryRun: true})
	if err != nil || !looked.DryRun || looked.Rows == 0 || !strings.HasPrefix(looked.To, "postgres://") {
		t.Errorf("a dry run gives %+v: %v", looked, err)
	}
	if at, err := pgx.ParseConfig(url); err != nil || at.Password == "" || strings.Contains(looked.To, at.Password) {
		t.Errorf("a dry run tells the password of the target: %s (%v)", looked.To, err)
	}
	if err := usable(t, dir); err != nil {
		t.Errorf("after a dry run: %v", err)
	}
	const settings = "{\n  \"budget\": \"7/m\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	moved, err := run(t, migrate.Config{From: dir, To: url})
	if err != nil || moved.Rows != looked.Rows || moved.Bodies != 9 {
		t.Fatalf("the move gives %+v: %v", moved, err)
	}
	err = usable(t, dir)
	wantConflict(t, err, "moved to "+moved.To)
	if !strings.Contains(freshet.HintOf(err), "--undo --from "+dir) {
		t.Errorf("the hint is %q", freshet.HintOf(err))
	}
	if err := usable(t, url); err != nil {
		t.Error(err)
	}
	_, err = run(t, migrate.Config{From: dir, To: y.fresh(t)})
	wantConflict(t, err, "already")
	_, err = run(t, migrate.Config{From: url, To: dir})
	wantConflict(t, err, "still has the data")
	_, err = run(t, migrate.Config{From: url, To: filled(t), Replace: true})
	wantConflict(t, err, "not empty; there are rows in sources")
	if err := os.Remove(filepath.Join(dir, "settings.json")); err != nil {
		t.Fatal(err)
	}
	if _, err = run(t, migrate.Config{From: url, To: dir, Replace: true}); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "settings.json")); err != nil || string(kept) != settings {
		t.Errorf("the settings came back as %q: %v", kept, err)
	}
	wantConflict(t, usable(t, url), dir)
	if err := usable(t, dir); err != nil {
		t.Error(err)
	}
	if other, err := migrate.Undo(t.Context(), url, features.All()); err != nil || other != dir {
		t.Errorf("undone with %q: %v", other, err)
	}
	if err := usable(t, url); err != nil {
		t.Error(err)
	}
	_, err = migrate.Undo(t.Context(), url, features.All())
	wantConflict(t, err, "nothing was moved away")
}

// A store that somebody uses is not moved, and nothing is moved into one.
func storeInUse(t *testing.T, y *yard) {
	dir, url := filled(t), y.fresh(t)
	used, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, migrate.Config{From: dir, To: url}); !errors.Is(err, freshet.ErrBusy) {
		t.Errorf("a move from a store in use: %v", err)
	}
	if err := used.Close(); err != nil {
		t.Fatal(err)
	}
	served, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	if _, err := run(t, migrate.Config{From: dir, To: url}); !errors.Is(err, freshet.ErrBusy) {
		t.Errorf("a move to a store in use: %v", err)
	}
	if err := usable(t, dir); err != nil {
		t.Error(err)
	}
	if _, err := run(t, migrate.Config{From: t.TempDir(), To: url}); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("a move from an empty directory: %v", err)
	}
}

// A move that is cut off anywhere leaves the source as it was and a target that cannot be
// used. Another one starts over.
func moveIsCutOff(t *testing.T, y *yard) {
	dir, url, other := filled(t), y.fresh(t), t.TempDir()
	for _, way := range []struct {
		migrate.Config
		at []string
	}{
		{migrate.Config{From: dir, To: url, Features: features.All()}, []string{"copying bodies", "verifying file"}},
		{migrate.Config{From: url, To: other, Features: features.All()}, []string{"copying seals", "comparing changes"}},
	} {
		ends := 0
		for _, at := range way.at {
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("cut off")
			way.Now = time.Now
			way.Say = func(g store.Progress) {
				if g.Doing == at {
					ends++
					cancel(cause)
				}
			}
			if _, err := migrate.Run(ctx, way.Config); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
				t.Errorf("a move from %s that was cut off %s ends with %v", way.From, at, err)
			}
			cancel(nil)
			wantConflict(t, usable(t, way.To), "incomplete")
			if err := usable(t, way.From); err != nil {
				t.Errorf("a move that was cut off %s: %v", at, err)
			}
		}
		if ends != len(way.at) {
			t.Errorf("the move was cut off %d times", ends)
		}
		way.Say = nil
		if _, err := run(t, way.Config); err != nil {
			t.Fatal(err)
		}
		wantConflict(t, usable(t, way.From), "moved to")
		if err := usable(t, way.To); err != nil {
			t.Error(err)
		}
	}
}

// A move that is cut off between the marks leaves no store that can be used, so that no two
// can. Another one does what is left.
func moveIsCutOffBetweenTheMarks(t *testing.T, y *yard) {
	dir, url := filled(t), y.fresh(t)
	if _, err := run(t, migrate.Config{From: dir, To: url}); err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(url, "search_path=")
	mark := func(state string) {
		t.Helper()
		query := fmt.Sprintf("INSERT INTO %s.moves (id, state, move, other, at) VALUES (1, '%s', '%s', '%s', 0) ON CONFLICT (id) DO UPDATE SET state = excluded.state", schema, state, nameOf(t, dir), dir)
		if _, err := y.conn.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	mark("complete")
	wantConflict(t, usable(t, dir), "moved to")
	wantConflict(t, usable(t, url), "incomplete")
	again, err := run(t, migrate.Config{From: dir, To: url})
	if err != nil || !again.Resumed {
		t.Errorf("the last step gives %+v: %v", again, err)
	}
	if err := usable(t, url); err != nil {
		t.Error(err)
	}

	// Whoever went on with the source after all has what the target has not.
	mark("complete")
	if _, err := migrate.Undo(t.Context(), dir, features.All()); err != nil {
		t.Fatal(err)
	}
	if again, err = run(t, migrate.Config{From: dir, To: url}); err != nil || again.Resumed || again.Rows == 0 {
		t.Errorf("a move that starts over gives %+v: %v", again, err)
	}
}

// nameOf returns the name of the move that left a directory.
func nameOf(t *testing.T, dir string) (name string) {
	db, err := sql.Open("sqlite", dir+"/freshet.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT move FROM moves").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

// What has lost the lease meanwhile leaves neither rows nor marks.
func fencedMove(t *testing.T, y *yard) {
	url := y.fresh(t)
	dir := filled(t)
	if _, err := run(t, migrate.Config{From: dir, To: url}); err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(url, "search_path=")
	cfg := migrate.Config{From: url, To: t.TempDir(), Features: features.All(), Now: time.Now, Say: func(g store.Progress) {
		if g.Doing == "verifying file" {
			if _, err := y.conn.Exec(context.Background(), "UPDATE "+schema+".leases SET epoch = epoch + 1, renewed = '-infinity'"); err != nil {
				t.Error(err)
			}
		}
	}}
	if _, err := migrate.Run(t.Context(), cfg); !errors.Is(err, freshet.ErrStorage) {
		t.Errorf("a move whose source was taken over ends with %v", err)
	}
	if err := usable(t, url); err != nil {
		t.Error(err)
	}
	wantConflict(t, usable(t, cfg.To), "incomplete")
}

// What arrives otherwise than it was sent is noticed, whatever table it is in: here PostgreSQL
// alters what is put into a table on its way.
func alteredOnTheWay(t *testing.T, y *yard) {
	url := y.fresh(t)
	if s, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: url}); err != nil {
		t.Fatal(err)
	} else if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(url, "search_path=")
	for table, change := range map[string]string{"marks": "new.checksum = 7", "versions": "new.hash = decode('00', 'hex')"} {
		_, err := y.conn.Exec(t.Context(), fmt.Sprintf(`CREATE FUNCTION %[1]s.meddle() RETURNS trigger AS $$ BEGIN %[3]s; RETURN new; END $$ LANGUAGE plpgsql;
			CREATE TRIGGER meddle BEFORE INSERT ON %[1]s.%[2]s FOR EACH ROW EXECUTE FUNCTION %[1]s.meddle()`, schema, table, change), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, migrate.Config{From: filled(t), To: url}); !errors.Is(err, freshet.ErrDamaged) || !strings.Contains(err.Error(), table) {
			t.Errorf("with an altered row of %s: %v", table, err)
		}
		wantConflict(t, usable(t, url), "incomplete")
		if _, err := y.conn.Exec(t.Context(), "DROP FUNCTION "+schema+".meddle() CASCADE"); err != nil {
			t.Fatal(err)
		}
	}
}

// apart are the tables that are not moved: which migrations were made, who writes and what these
// know together, the mark of a move, and what is derived. Settings are taken along by themselves.
var apart = []string{"schema_versions", "sqlite_sequence", "leases", "moves", "nodes", "facts", "edits", "search_place", "search_sources", "search_passages"}

// Every column of every table is moved, or is known not to be.
func everyTableIsMoved(t *testing.T, y *yard) {
	dir := t.TempDir()
	if s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}); err != nil {
		t.Fatal(err)
	} else if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dir+"/freshet.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY 1, 2")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		found = append(found, table+"."+column)
	}
	compareColumns(t, "SQLite", found)

	url := y.fresh(t)
	if s, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: url}); err != nil {
		t.Fatal(err)
	} else if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(url, "search_path=")
	answer, err := y.conn.Query(t.Context(), "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = $1", schema)
	if err != nil {
		t.Fatal(err)
	}
	if found, err = pgx.CollectRows(answer, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	compareColumns(t, "PostgreSQL", found)
}

// compareColumns holds the columns of a database against those that are moved.
func compareColumns(t *testing.T, where string, found []string) {
	t.Helper()
	var moved []string
	for _, table := range store.NewSchema(features.All()).Tables() {
		for _, c := range table.Columns {
			moved = append(moved, table.Name+"."+c)
		}
	}
	if len(found) < 100 {
		t.Errorf("%s has only %d columns", where, len(found))
	}
	for _, column := range found {
		table, _, _ := strings.Cut(column, ".")
		if !slices.Contains(moved, column) && !slices.Contains(apart, table) {
			t.Errorf("%s has %s, which is not moved: enter it in tables/table.go", where, column)
		}
	}
	for _, column := range moved {
		if !slices.Contains(found, column) {
			t.Errorf("%s is moved, and %s does not have it", column, where)
		}
	}
}

// A move that was stopped before it had begun says of which store nothing was lost, and of what was
// to be the target only what anybody may know.
func TestNamesOfAMoveThatHasNotBegun(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	moved, err := migrate.Run(done, migrate.Config{From: "postgres://me:hush@127.0.0.1:1/one?password=hush", To: "postgres://me:hush@127.0.0.1:1/two", Now: time.Now})
	if err == nil || moved.From != "postgres://me@127.0.0.1:1/one" || moved.To != "postgres://me@127.0.0.1:1/two" {
		t.Errorf("the move is from %s to %s: %v", moved.From, moved.To, err)
	}
	if err != nil && strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}
