package postgres_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/store/postgres"
	"freshet/internal/test/kit"
)

// A diary is a log that can be read while it is written.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

// count returns how often something was said.
func (d *diary) count(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Count(d.text.String(), what)
}

// A lease that cannot be renewed for a while is told once, and once more when that is over: nobody
// wants a line for every try of an hour.
func TestTroubleIsToldOnce(t *testing.T) {
	shed := newShed(t)
	at := shed.url(t, t.TempDir())
	said := &diary{}
	s := open(t, postgres.Config{URL: at, Lease: 600 * time.Millisecond, Log: slog.New(slog.NewTextHandler(said, nil))})
	defer s.Close()
	schema := at[strings.LastIndex(at, "=")+1:]
	do := func(query string) {
		t.Helper()
		if _, err := shed.conn.Exec(t.Context(), strings.ReplaceAll(query, "SCHEMA", schema)); err != nil {
			t.Fatal(err)
		}
	}
	for turn := 1; turn <= 2; turn++ {
		do("CREATE SEQUENCE SCHEMA.tries") // counts also what is undone
		do(`CREATE FUNCTION SCHEMA.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN PERFORM nextval('SCHEMA.tries'); RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$`)
		do("CREATE TRIGGER full_disk BEFORE UPDATE ON SCHEMA.leases FOR EACH ROW EXECUTE FUNCTION SCHEMA.full_disk()")
		for tries := int64(0); tries < 4; {
			if err := shed.conn.QueryRow(t.Context(), "SELECT last_value FROM "+schema+".tries").Scan(&tries); err != nil {
				t.Fatal(err)
			}
		}
		do("DROP FUNCTION SCHEMA.full_disk CASCADE")
		do("DROP SEQUENCE SCHEMA.tries")
		kit.Until(t, "the lease is renewed again", func() bool { return said.count("the lease is renewed again") >= turn })
		if told := said.count("the lease could not be renewed"); told != turn {
			t.Errorf("in turn %d the trouble was told %d times in all:\n%s", turn, told, &said.text)
		}
	}
}
