package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/features"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
	"freshet/internal/test/pgtest"
	"freshet/internal/test/storetest"
)

// A shed is a server with a database whose schemas are stores. A schema that is not used
// any more is emptied and used again: to make one takes longer than most tests.
type shed struct {
	*pgtest.Server
	database string
	conn     *pgx.Conn

	mu     sync.Mutex
	made   int
	places map[string]string // schema of the store in a directory
	left   map[string][32]byte
	free   []string
	empty  []byte // a dump of a store in which nothing was written
}

func newShed(t testing.TB, settings ...string) *shed {
	s := &shed{Server: pgtest.Start(t, append([]string{"fsync=on"}, settings...)...), places: map[string]string{}, left: map[string][32]byte{}}
	s.database = s.Database(t)
	s.conn = s.Connect(t, s.database)
	return s
}

// all are the tables of a store that have rows at first or later.
func all() (names []string) {
	for _, t := range store.NewSchema(features.All()).Tables() {
		names = append(names, t.Name)
	}
	return append(names, "moves", "leases", "nodes", "facts", "edits", "search_place", "search_sources", "search_passages")
}

// schema returns the schema of the store in a directory.
func (s *shed) schema(t testing.TB, place string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := s.places[place]; name != "" {
		return name
	}
	var name string
	if n := len(s.free); n > 0 {
		name, s.free = s.free[n-1], s.free[:n-1]
		s.restore(t, name, s.empty)
	} else {
		s.made++
		name = fmt.Sprintf("store%d", s.made)
		if _, err := s.conn.Exec(context.Background(), "CREATE SCHEMA "+name); err != nil {
			t.Fatal(err)
		}
		if s.empty == nil {
			if err := open(t, postgres.Config{URL: s.URL(s.database) + "&search_path=" + name}).Close(); err != nil {
				t.Fatal(err)
			}
			s.empty = s.read(t, name)
		}
	}
	s.places[place] = name
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.places, place)
		delete(s.left, place)
		s.free = append(s.free, name)
	})
	return name
}

// url returns the URL of the store in a directory.
func (s *shed) url(t testing.TB, place string) string {
	return s.URL(s.database) + "&search_path=" + s.schema(t, place)
}

// dump writes all that a store has into its directory, so that the suite can copy it.
func (s *shed) dump(t testing.TB, place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dump := s.read(t, s.places[place])
	if err := os.WriteFile(filepath.Join(place, "dump"), dump, 0o600); err != nil {
		t.Error(err)
	}
	s.left[place] = sha256.Sum256(dump)
}

// read returns all rows of a schema.
func (s *shed) read(t testing.TB, schema string) []byte {
	var b bytes.Buffer
	for _, table := range s.filled(t, schema) {
		fmt.Fprintf(&b, "-- %s\n", table)
		if _, err := s.conn.PgConn().CopyTo(context.Background(), &b, fmt.Sprintf("COPY (SELECT * FROM %s.%s) TO STDOUT", schema, table)); err != nil {
			t.Error(err)
		}
	}
	return b.Bytes()
}

// filled returns the tables of a schema that have rows.
func (s *shed) filled(t testing.TB, schema string) (names []string) {
	var parts []string
	for _, table := range all() {
		parts = append(parts, fmt.Sprintf("SELECT '%s' WHERE EXISTS (SELECT 1 FROM %s.%s)", table, schema, table))
	}
	rows, err := s.conn.Query(context.Background(), strings.Join(parts, " UNION ALL "))
	if err != nil {
		t.Fatal(err)
	}
	if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return names
}

// fetch puts what is in a directory into the store, if it is another than was left there.
func (s *shed) fetch(t testing.TB, place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dump, err := os.ReadFile(filepath.Join(place, "dump"))
	if errors.Is(err, os.ErrNotExist) || s.left[place] == sha256.Sum256(dump) {
		return
	}
	s.restore(t, s.places[place], dump)
}

// restore makes a schema what a dump is.
func (s *shed) restore(t testing.TB, schema string, dump []byte) {
	ctx := context.Background()
	var b strings.Builder
	fmt.Fprintf(&b, "SET search_path = %s;", schema)
	for _, table := range all() {
		fmt.Fprintf(&b, "DELETE FROM %s;", table)
	}
	b.WriteString(dropPartitions)
	if bytes.Contains(dump, []byte("-- outcomes\n")) { // which may be of partitions that are gone
		b.WriteString("; CREATE TABLE outcomes_1_1000000 PARTITION OF outcomes FOR VALUES FROM (1) TO (1000001)")
	}
	if _, err := s.conn.PgConn().Exec(ctx, b.String()).ReadAll(); err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(dump), "-- ") {
		table, rows, ok := strings.Cut(part, "\n")
		if !ok {
			continue
		}
		if rows == "" {
			continue
		}
		if _, err := s.conn.PgConn().CopyFrom(ctx, strings.NewReader(rows), fmt.Sprintf("COPY %s.%s FROM STDIN", schema, table)); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
}

// dropPartitions drops the parts of the log of outcomes.
const dropPartitions = `DO $$ DECLARE part regclass; BEGIN
	FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'outcomes'::regclass LOOP
		EXECUTE format('DROP TABLE %s', part);
	END LOOP;
END $$`

// A kept store leaves all that it has in a directory when it is closed.
type kept struct {
	*postgres.Store
	close func()
}

func (k kept) Close() error {
	err := k.Store.Close()
	k.close()
	return err
}

// TestStore runs the suite. Every other time a store is opened it has standings that are
// written after every third outcome, a cache that holds next to nothing, transactions of no
// more than three callers, and parts of the log with two outcomes.
func TestStore(t *testing.T) {
	// What takes random steps is the same code as in package sqlite, where it takes more.
	if err := flag.Set("rapid.checks", "8"); err != nil {
		t.Fatal(err)
	}
	s := newShed(t)
	var opened atomic.Int64
	storetest.Run(t, func(t *testing.T, place string) storetest.Store {
		cfg := postgres.Config{Features: features.All(), URL: s.url(t, place)}
		if opened.Add(1)%2 == 0 {
			cfg.FlushEvery, cfg.CacheBytes, cfg.Batch, cfg.Partition = 3, 1000, 3, 2
		}
		s.fetch(t, place)
		return kept{open(t, cfg), func() { s.dump(t, place) }}
	})
}

// open opens a store or stops the test.
func open(t testing.TB, cfg postgres.Config) *postgres.Store {
	t.Helper()
	cfg.Features = features.All()
	began := time.Now()
	s, err := postgres.Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Logf("it took %v to open the store", took)
	}
	return s
}
