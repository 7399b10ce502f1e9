package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
)

// capture records a poll that saw a text.
func capture(t testing.TB, s freshet.Store, id freshet.SourceID, n int) {
	t.Helper()
	text := []byte(fmt.Sprintf("what it says at minute %d, \x00 and all that", n))
	at := noon.Add(time.Duration(n) * time.Minute)
	_, _, err := s.Commit(context.Background(), freshet.Record{
		Outcome:    freshet.Outcome{Source: id, Began: at, Ended: at.Add(time.Second), Result: freshet.Changed, Status: 200, Requests: 1, Dates: []time.Time{at}},
		Validators: freshet.Validators{ETag: fmt.Sprintf("\"\xe9%d\"", n)},
		Capture: &freshet.Capture{
			Recipe: reading.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text), Title: "a \x00 title \xff",
			Raw: freshet.Raw{Status: 200, URL: "https://a.example/", Header: http.Header{"Content-Type": {"text/html"}}, Body: append([]byte("<p>"), text...)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever table has a row that is altered, or lacks one, Check finds it, and it finds nothing
// in a store that is whole.
func TestAlteredRowsAreFound(t *testing.T) {
	shed := newShed(t)
	place := t.TempDir()
	at := shed.url(t, place)
	s := open(t, postgres.Config{URL: at, Partition: 4, FlushEvery: 3})
	add(t, s, "a")
	for n := range 6 {
		capture(t, s, "a", n)
	}
	head, err := s.Head(t.Context(), "a")
	if err != nil || head.Validators.ETag != "\"\xe95\"" {
		t.Errorf("the ETag is %q (%v)", head.Validators.ETag, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	report := func() store.Report {
		r, err := postgres.Verify(t.Context(), postgres.Config{Features: features.All(), URL: at}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := report(); len(r.Damages) > 0 || r.Rows < 20 || r.Bodies != 12 {
		t.Fatalf("a store that is whole: %+v", r)
	}
	whole := shed.read(t, shed.schema(t, place))
	schema := shed.schema(t, place)
	for _, meddling := range []string{
		"UPDATE sources SET url = url || 'x'", "UPDATE standings SET head = head + 1", "UPDATE outcomes SET status = 500 WHERE cursor = 2",
		"DELETE FROM outcomes WHERE cursor = 6", "DELETE FROM outcomes WHERE cursor = 3", "UPDATE changes SET summary = 'other' WHERE cursor = 2",
		"UPDATE versions SET seen = seen + 1 WHERE number = 4", "UPDATE bodies SET frame = frame || '\\x00'::bytea WHERE id = 3", "DELETE FROM bodies WHERE id = 1",
		"UPDATE evidence SET said = said || '\\x00'::bytea WHERE outcome = 2", "DELETE FROM epochs WHERE number = 2", "UPDATE seals SET upto = upto - 1 WHERE name = 'changes'",
	} {
		exec(t, shed, "SET search_path = "+schema)
		exec(t, shed, meddling)
		if r := report(); len(r.Damages) == 0 || !errors.Is(r.Err("it", "mend it"), freshet.ErrDamaged) {
			t.Errorf("nobody finds out about %s", meddling)
		}
		shed.restore(t, schema, whole)
	}
	if r := report(); len(r.Damages) > 0 {
		t.Errorf("what was put back is %+v", r)
	}
}

func exec(t testing.TB, shed *shed, query string) {
	t.Helper()
	if _, err := shed.conn.Exec(context.Background(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Old outcomes go with their partitions, also while somebody reads the log for long, when
// they go one by one.
func TestOldOutcomesGoWithTheirPartitions(t *testing.T) {
	shed := newShed(t)
	place := t.TempDir()
	s := open(t, postgres.Config{URL: shed.url(t, place), Partition: 10, Lease: time.Minute})
	defer s.Close()
	schema := shed.schema(t, place)
	add(t, s, "a")
	for n := range 45 {
		if _, err := poll(s, "a", n); err != nil {
			t.Fatal(err)
		}
	}
	parts := func() []string {
		rows, err := shed.conn.Query(t.Context(), "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '"+schema+".outcomes'::regclass ORDER BY length(c.relname), 1")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var names []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			names = append(names, strings.TrimPrefix(name, "outcomes_"))
		}
		return names
	}
	prune := func(minute, want int) {
		t.Helper()
		done, err := s.Prune(t.Context(), noon.Add(time.Duration(minute)*time.Minute), freshet.Keep{}, time.Second)
		if err != nil || int(done.Outcomes) != want {
			t.Errorf("%d outcomes are pruned (%v), want %d", done.Outcomes, err, want)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	prune(25, 25)
	if got, want := parts(), []string{"21_30", "31_40", "41_50"}; !slices.Equal(got, want) {
		t.Errorf("the parts left are %v, want %v", got, want)
	}
	reading := shed.Connect(t, shed.database)
	tx, err := reading.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM "+schema+".outcomes"); err != nil {
		t.Fatal(err)
	}
	prune(35, 10)
	if got := len(parts()); got != 3 {
		t.Errorf("%d parts are left while somebody reads them", got)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	prune(100, 10)
	if got, want := parts(), []string{"41_50"}; !slices.Equal(got, want) {
		t.Errorf("the parts left at the end are %v, want %v", got, want)
	}
	if o, err := poll(s, "a", 200); err != nil || o.Cursor != 46 {
		t.Errorf("the next outcome is at %d (%v)", o.Cursor, err)
	}
}
