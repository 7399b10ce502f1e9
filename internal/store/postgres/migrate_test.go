package postgres_test

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/postgres"
	"freshet/internal/test/pgtest"
)

// restoreOldest restores a database of the oldest format, which four migrations had led to, and
// returns its name.
func restoreOldest(t *testing.T, s *pgtest.Server) string {
	t.Helper()
	return restoreDump(t, s, "testdata/format4.sql.gz")
}

// restoreDump restores a database from a compressed file, and returns its name.
func restoreDump(t *testing.T, s *pgtest.Server, file string) string {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	dump, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	name := s.Database(t)
	if _, err := s.Connect(t, name).PgConn().Exec(t.Context(), string(dump)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return name
}

// schemaOf returns the columns, indexes and constraints of a database, without those of partitions.
func schemaOf(t *testing.T, s *pgtest.Server, database string) (all []string) {
	t.Helper()
	rows, err := s.Connect(t, database).Query(t.Context(), `WITH tables AS (
			SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition)
		SELECT relname || ' ' || attnum || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' || attstorage::text || ' ' || attcollation
			|| coalesce(' ' || pg_get_expr(adbin, adrelid), '') AS line
			FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid LEFT JOIN pg_attrdef ON adrelid = a.attrelid AND adnum = attnum WHERE attnum > 0 AND NOT attisdropped
		UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN tables t ON t.oid = indrelid
		UNION ALL SELECT relname || ' ' || conname || ' ' || pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN tables t ON t.oid = conrelid`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// A database of data format 4 is read whole and written further, and a new one has the same schema. It
// has a source with five versions that keeps three, one that was removed, one that was
// purged, a site with two pages, a query, a sink and a user.
func TestOpensTheOldestFormat(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	old, fresh := restoreOldest(t, server), server.Database(t)
	for _, name := range []string{fresh, old} {
		if err := open(t, postgres.Config{URL: server.URL(name)}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(schemaOf(t, server, fresh), schemaOf(t, server, old)); diff != "" {
		t.Errorf("the schema is not that of a new database (-new +old):\n%s", diff)
	}
	s := open(t, postgres.Config{URL: server.URL(old)})
	defer s.Close()
	ctx := t.Context()
	w, err := s.Source(ctx, "page")
	if err != nil || w.Status.Head.Number != 5 || w.Status.Polls != 5 || w.Status.Changes != 4 || w.Tags[0] != "news" || w.Name != "A page" || w.Keep.Versions != 3 {
		t.Fatalf("the source is %+v: %v", w, err)
	}
	versions, err := s.Versions(ctx, "page", freshet.Between{}, 0, 0)
	if err != nil || len(versions) < 3 {
		t.Errorf("the versions are %+v: %v", versions, err)
	}
	for _, v := range versions {
		if text, err := s.Text(ctx, "page", v.Number); err != nil || !strings.Contains(string(text), "this is state") {
			t.Errorf("version %d is %q: %v", v.Number, text, err)
		}
	}
	if w, err := s.RemovedSource(ctx, "gone"); err != nil || w.Status.Changes != 3 {
		t.Errorf("the removed source is %+v: %v", w, err)
	}
	if changes, err := s.Changes(ctx, freshet.ChangeQuery{Source: "page"}); err != nil || len(changes) != 4 || changes[3].Seq != 4 {
		t.Errorf("the changes are %+v: %v", changes, err)
	}
	if outcomes, err := s.Outcomes(ctx, freshet.OutcomeQuery{Source: "page", Limit: 10}); err != nil || len(outcomes) != 5 {
		t.Errorf("the outcomes are %+v: %v", outcomes, err)
	}
	if n, err := frontier.NewStore(s.DB()).CountPages(ctx, "docs"); err != nil || n.Watched != 2 || n.Links != 2 {
		t.Errorf("the pages are %+v: %v", n, err)
	}
	if q, err := queries.NewStore(s.DB()).Query(ctx, "all"); err != nil || q.When != "true" {
		t.Errorf("the query is %+v: %v", q, err)
	}
	if kept, err := sinks.NewStore(s.DB()).Sinks(ctx); err != nil || len(kept) != 1 || kept[0].Name != "team" {
		t.Errorf("the sinks are %+v: %v", kept, err)
	}
	if u, err := auth.NewStore(s.DB()).User(ctx, "ada"); err != nil || u.Role != access.Admin {
		t.Errorf("the user is %+v: %v", u, err)
	}
	text := []byte("state six")
	_, c, err := s.Commit(ctx, freshet.Record{
		Outcome: freshet.Outcome{Source: "page", Began: time.Now(), Ended: time.Now(), Result: freshet.Changed, Status: 200, Requests: 1},
		Capture: &freshet.Capture{Recipe: reading.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, URL: w.URL, Body: text}},
	})
	if err != nil || c.Seq != 5 || c.Number != 6 {
		t.Errorf("the next change is %+v: %v", c, err)
	}
	pruned, err := s.Prune(ctx, time.Now(), freshet.Keep{}, 0)
	if err != nil || len(versions)+1-pruned.Versions != 3 {
		t.Errorf("of %d versions %d are pruned: %v", len(versions)+1, pruned.Versions, err)
	}
	if err := s.Check(ctx); err != nil {
		t.Errorf("it is damaged: %v", err)
	}
}

// The databases of all formats open, and say which version of freshet wrote them. A migration that fails leaves the
// old format.
func TestEveryFormatOpens(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	files, err := filepath.Glob("testdata/format*.sql.gz")
	if err != nil || len(files) < 2 {
		t.Fatalf("the databases of old formats are %v: %v", files, err)
	}
	for _, file := range files {
		name := restoreDump(t, server, file)
		conn := server.Connect(t, name)
		var old, format int64
		var program string
		if err := conn.QueryRow(t.Context(), "SELECT max(version) FROM schema_versions").Scan(&old); err != nil {
			t.Fatal(err)
		}
		exec := func(query string) {
			t.Helper()
			if _, err := conn.Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		exec("ALTER TABLE schema_versions ADD COLUMN program INT") // in the way of the last migration
		if s, err := postgres.Open(t.Context(), postgres.Config{URL: server.URL(name), Features: features.All()}); err == nil {
			s.Close()
			t.Fatalf("%s was opened although a migration must fail", file)
		}
		if err := conn.QueryRow(t.Context(), "SELECT max(version) FROM schema_versions").Scan(&format); err != nil || format != old {
			t.Errorf("%s has format %d after a migration that failed, want %d: %v", file, format, old, err)
		}
		exec("ALTER TABLE schema_versions DROP COLUMN program")
		s := open(t, postgres.Config{URL: server.URL(name), Program: "v1.2'3"})
		found, err := s.Versions(t.Context(), "page", freshet.Between{}, 0, 0)
		if err != nil || len(found) < 3 {
			t.Errorf("%s has the versions %v: %v", file, found, err)
		}
		for _, v := range found {
			if raw, err := s.Raw(t.Context(), "page", v.Number); err != nil || raw.Status != 200 || len(raw.Body) == 0 {
				t.Errorf("%s: response %d is %+v: %v", file, v.Number, raw, err)
			}
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), "SELECT program FROM schema_versions ORDER BY version DESC LIMIT 1").Scan(&program); err != nil || program != "v1.2'3" {
			t.Errorf("%s was written by %q: %v", file, program, err)
		}
		exec("INSERT INTO schema_versions (version, program) VALUES (999, 'v7.8.9')")
		if _, err = postgres.Open(t.Context(), postgres.Config{URL: server.URL(name), Features: features.All()}); !errors.Is(err, postgres.ErrNewFormat) || !strings.Contains(freshet.HintOf(err), "freshet v7.8.9") {
			t.Errorf("a newer format gives %v (%s)", err, freshet.HintOf(err))
		}
	}
}
