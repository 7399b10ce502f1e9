package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/store/sqlite"
)

// unpacked returns a directory with the database in a compressed file.
func unpacked(t *testing.T, file string) (dir string) {
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
	data, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "freshet.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A store of data format 22, which 22 migrations had led to, is read whole and written further. It
// has a source with four versions, a query, a sink, a user and an audit log.
func TestOpensTheOldestFormat(t *testing.T) {
	var log bytes.Buffer
	s := open(t, sqlite.Config{Dir: unpacked(t, "testdata/format22.db.gz"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer s.Close()
	ctx := t.Context()
	if !strings.Contains(log.String(), "data format updated") {
		t.Errorf("nothing is said of the update of the format: %s", log.String())
	}
	w, err := s.Source(ctx, "page")
	if err != nil || w.Status.Head.Number != 4 || w.Status.Polls != 4 || w.Status.Changes != 3 || w.Tags[0] != "news" {
		t.Fatalf("the source is %+v: %v", w, err)
	}
	for number, word := range []string{"one", "two", "three", "four"} {
		if text, err := s.Text(ctx, "page", number+1); err != nil || !strings.Contains(string(text), word) {
			t.Errorf("version %d is %q: %v", number+1, text, err)
		}
	}
	if changes, err := s.Changes(ctx, freshet.ChangeQuery{}); err != nil || len(changes) != 3 || changes[2].Seq != 3 {
		t.Errorf("the changes are %+v: %v", changes, err)
	}
	if outcomes, err := s.Outcomes(ctx, freshet.OutcomeQuery{Limit: 10}); err != nil || len(outcomes) != 4 {
		t.Errorf("the outcomes are %+v: %v", outcomes, err)
	}
	if q, err := queries.NewStore(s.DB()).Query(ctx, "all"); err != nil || q.When != "true" {
		t.Errorf("the query is %+v: %v", q, err)
	}
	if kept, err := sinks.NewStore(s.DB()).Sinks(ctx); err != nil || len(kept) != 1 || kept[0].Name != "team" {
		t.Errorf("the sinks are %+v: %v", kept, err)
	}
	users := auth.NewStore(s.DB())
	if u, err := users.User(ctx, "ada"); err != nil || u.Role != access.Admin {
		t.Errorf("the user is %+v: %v", u, err)
	}
	if entries, err := users.AuditLog(ctx, auth.AuditQuery{}); err != nil || len(entries) != 8 {
		t.Errorf("the audit log has %d entries: %v", len(entries), err)
	}
	_, c := commit(t, s, captured("page", time.Now(), "five"))
	if c.Seq != 4 || c.Number != 5 {
		t.Errorf("the next change is %+v", c)
	}
	if err := s.Check(ctx); err != nil {
		t.Errorf("it is damaged: %v", err)
	}
}

// A new store has the schema of an old one that was updated: nothing differs by how a store began.
func TestSchemaOfANewStore(t *testing.T) {
	old, dir := unpacked(t, "testdata/format22.db.gz"), t.TempDir()
	for _, dir := range []string{old, dir} {
		if err := open(t, sqlite.Config{Dir: dir}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []string{
		"SELECT count(*) FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) WHERE s.type = 'table'",
		"SELECT sum(length(p.name || p.type) * (p.cid + 7) + p.pk + p.\"notnull\") FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) p WHERE s.type = 'table'",
		"SELECT sum(length(s.name || s.sql)) FROM sqlite_schema s WHERE s.type = 'index' AND s.sql IS NOT NULL",
	} {
		if a, b := count(t, dir, query), count(t, old, query); a != b {
			t.Errorf("%s: %d in a new store, %d in an old one", query, a, b)
		}
	}
}
