package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/sinks"
	"freshet/internal/store"
	"freshet/internal/store/sqlite"
)

// count returns the number that a query answers with on a closed store.
func count(t testing.TB, dir, query string) (n int64) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// A body that a source had before is stored once, and so is what its responses
// have in common.
func TestWhatIsTheSameIsStoredOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	for _, id := range []freshet.SourceID{"a", "b"} {
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		if err := captureText(t.Context(), s, noise(n%2)); err != nil { // text and response are the same bytes
			t.Fatal(err)
		}
	}
	size, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if one := int64(len(noise(0))); size.Full != 2*one || size.Bodies < 2*one || size.Bodies > 2*one+10 {
		t.Errorf("ten versions of two texts of %d bytes take %+v, want two bodies", one, size)
	}
	if info, err := os.Stat(filepath.Join(dir, "freshet.db")); err != nil || size.File < info.Size() || size.File < size.Bodies {
		t.Errorf("the files have %d bytes, of which the database has %d: %v", size.File, info.Size(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, dir, "SELECT count(*) FROM envelopes"); n != 1 {
		t.Errorf("there are %d envelopes for one source whose responses are alike, want 1", n)
	}
}

// No version is far to reach: the chain of bodies that it rests on is cut now
// and then.
func TestChainsAreShort(t *testing.T) {
	dir := filled(t, 130)
	if n := count(t, dir, "SELECT max(depth) FROM bodies"); n != 50 {
		t.Errorf("the deepest body rests on %d others, want 50", n)
	}
	if n := count(t, dir, "SELECT count(*) FROM bodies WHERE base = 0"); n != 3 {
		t.Errorf("%d of 130 versions stand alone, want 3: the first, and one after every 50 that rest on it", n)
	}
	if n := count(t, dir, "SELECT count(*) FROM bodies b JOIN bodies c ON c.id = b.base WHERE b.depth <> c.depth + 1"); n != 0 {
		t.Errorf("%d bodies count those they rest on wrongly", n)
	}
}

// Versions that hold 20,001 bytes each are dropped until a bound on bytes holds,
// and not one more.
func TestPruneByBytes(t *testing.T) {
	const each = 20_001 // noise cannot be compressed, and a frame has one byte more
	for _, overall := range []bool{false, true} {
		for bound, want := range map[int64]int{1: 1, each: 1, 3*each - 1: 2, 3 * each: 3, 3*each + 1: 3, 10 * each: 10, 11 * each: 10} {
			s := open(t, sqlite.Config{Dir: t.TempDir()})
			keep := freshet.Keep{Bytes: bound}
			src := freshet.Source{ID: "a", URL: "https://a.example/"}
			if !overall {
				src.Keep, keep = keep, freshet.Keep{}
			}
			if _, err := s.AddSource(t.Context(), src); err != nil {
				t.Fatal(err)
			}
			for n := range 10 {
				if err := captureText(t.Context(), s, noise(n)); err != nil {
					t.Fatal(err)
				}
			}
			done, err := s.Prune(t.Context(), noon, keep, 0)
			if err != nil || done.Versions != 10-want || done.Bytes < int64(10-want)*(each-40) {
				t.Errorf("with a bound of %d bytes (overall: %v) %+v was dropped (%v), want all but %d versions", bound, overall, done, err, want)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What a Prune says that it freed is what the bodies then take less, although
// some of those that stay have to be encoded anew.
func TestPruneCountsBytes(t *testing.T) {
	s := open(t, sqlite.Config{Dir: filled(t, 60)})
	defer s.Close()
	for _, keep := range []int{41, 40, 7, 1} {
		before, err := s.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done, err := s.Prune(t.Context(), noon, freshet.Keep{Versions: keep}, 0)
		if err != nil {
			t.Fatal(err)
		}
		after, err := s.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if before.Bodies-after.Bodies != done.Bytes {
			t.Errorf("with %d versions left the bodies went from %d to %d bytes, and %d are said to be freed", keep, before.Bodies, after.Bodies, done.Bytes)
		}
	}
}

// Check names everything that is wrong, each by itself.
func TestCheckFindsDamage(t *testing.T) {
	tests := []struct {
		name, meddling string
		says           []string
	}{
		{"nothing", "", nil},
		{"a change that is not there", "DELETE FROM changes WHERE seq = 2", []string{"source a has 2 changes numbered up to 3"}},
		{"changes that begin late", "DELETE FROM changes WHERE seq = 1", []string{"source a has 2 changes numbered up to 3"}},
		{"a body that is not there", "PRAGMA foreign_keys = 0; DELETE FROM bodies WHERE id = 4", []string{"version 4 of source a has lost a body"}},
		{"a body that is another", "UPDATE bodies SET sum = sum + 1 WHERE id = 4", []string{"body 4 is not what was written"}},
		{"a text that has another name", "UPDATE versions SET hash = zeroblob(32) WHERE number = 4", []string{"the text of version 4 of source a does not hash to its name"}},
		{"a header that is cut off", "UPDATE envelopes SET header = x'05'", []string{"the header of version 1 of source a", "the header of version 4 of source a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filled(t, 4)
			if tt.meddling != "" {
				meddle(t, dir, tt.meddling)
			}
			s := open(t, sqlite.Config{Dir: dir})
			defer s.Close()
			err := s.Check(t.Context())
			if (err != nil) != (tt.says != nil) || err != nil && !errors.Is(err, freshet.ErrDamaged) {
				t.Fatalf("Check gives %v", err)
			}
			for _, what := range tt.says {
				if !strings.Contains(err.Error(), what) {
					t.Errorf("Check does not say that %q, but: %v", what, err)
				}
			}
		})
	}
	t.Run("a check that is given up", func(t *testing.T) {
		s := open(t, sqlite.Config{Dir: filled(t, 4)})
		defer s.Close()
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		if err := s.Check(ctx); err == nil || errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("Check gives %v, want that it was given up", err)
		}
	})
}

// Times that nanoseconds since 1970 cannot count to come back as the nearest
// ones that they can.
func TestFarTimes(t *testing.T) {
	s := open(t, sqlite.Config{Dir: filled(t, 1)})
	defer s.Close()
	first, last := time.Unix(0, -1<<63+1).UTC(), time.Unix(0, 1<<63-1).UTC()
	for _, tt := range []struct{ given, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), first},
		{first, first},
		{time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()},
		{last, last},
		{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), last},
		{noon.In(time.FixedZone("", 3600)), noon},
	} {
		o, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{
			Source: "a", Began: noon, Ended: noon, Result: freshet.Failed, NotBefore: tt.given,
		}})
		if err != nil {
			t.Fatal(err)
		}
		log, err := s.Outcomes(t.Context(), freshet.OutcomeQuery{After: o.Cursor - 1})
		if err != nil || len(log) != 1 {
			t.Fatalf("the log ends with %v: %v", log, err)
		}
		if diff := cmp.Diff(tt.want, log[0].NotBefore); diff != "" || o.NotBefore != log[0].NotBefore {
			t.Errorf("%v comes back as %v and then %v, want %v", tt.given, o.NotBefore, log[0].NotBefore, tt.want)
		}
	}
}

// Attempts are found however the log was marked: one that ended late, or began
// when the clock was wrong, is not passed over.
func TestAttemptsBesideMarks(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir, FlushEvery: 1}) // a mark after every outcome
	defer s.Close()
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	for _, minutes := range []int{1, 9, 2, 3, 8, 4} {
		at := noon.Add(time.Duration(minutes) * time.Minute)
		_, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: "a", Began: at, Ended: at, Result: freshet.Failed, Requests: minutes}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 { // none of which hides those of the first
		id := freshet.SourceID(fmt.Sprintf("old%d", n))
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"}); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: id, Began: noon.Add(-time.Hour), Ended: noon, Result: freshet.Failed}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for since, want := range map[int][]int{0: {1, 2, 3, 4, 8, 9}, 3: {3, 4, 8, 9}, 8: {8, 9}, 9: {9}, 10: nil} {
		attempts, err := s.Attempts(t.Context(), noon.Add(time.Duration(since)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, a := range attempts {
			got = append(got, a.Requests)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the attempts since minute %d are not as they should be (-want +got):\n%s", since, diff)
		}
	}
}

// What cannot be opened says why, and what to do about it.
func TestRefusals(t *testing.T) {
	t.Run("no directory", func(t *testing.T) {
		_, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All()})
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != "data" {
			t.Errorf("opening nothing gives %v, want an InvalidError of data", err)
		}
	})
	t.Run("a directory that is not there, to read", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "none")
		refused(t, sqlite.Config{Dir: dir, ReadOnly: true}, freshet.ErrNotFound, "freshet serve")
		if _, err := os.Stat(dir); err == nil {
			t.Error("looking for a store made its directory")
		}
	})
	t.Run("a schema that is too old", func(t *testing.T) {
		dir := t.TempDir()
		if err := open(t, sqlite.Config{Dir: dir}).Close(); err != nil {
			t.Fatal(err)
		}
		meddle(t, dir, "UPDATE schema_versions SET version_id = 21")
		for _, reading := range []bool{true, false} {
			refused(t, sqlite.Config{Dir: dir, ReadOnly: reading}, nil, "data format 21", "the version of freshet before this one")
		}
	})
	t.Run("a database that is no store, to read", func(t *testing.T) {
		dir := t.TempDir()
		meddle(t, dir, "CREATE TABLE other (x)")
		if _, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir, ReadOnly: true}); !errors.Is(err, freshet.ErrNotFound) {
			t.Errorf("opening it gives %v, want %v", err, freshet.ErrNotFound)
		}
	})
	t.Run("a file that was made and never written to", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "freshet.db"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, sqlite.Config{Dir: dir})
		defer s.Close()
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
			t.Errorf("adding a source: %v", err)
		}
	})
	t.Run("a backup to nowhere", func(t *testing.T) {
		s := open(t, sqlite.Config{Dir: filled(t, 1)})
		defer s.Close()
		path := filepath.Join(t.TempDir(), "none", "copy.db")
		if err := s.Backup(t.Context(), path); err == nil {
			t.Error("there is no error")
		}
	})
}

// A store that was not closed is looked through, so that damage is found before
// anything is built on it.
func TestUncleanStoreIsChecked(t *testing.T) {
	dir := filled(t, 100)
	path := filepath.Join(dir, "freshet.db")
	page := count(t, dir, "SELECT pageno FROM dbstat WHERE name = 'bodies_by_sum' AND pagetype = 'leaf' LIMIT 1")
	overwrite(t, path, (page-1)*4096, bytes.Repeat([]byte{0xff}, 100))
	s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatalf("a store that was closed is not looked through: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", []byte("a log that was not folded in"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, sqlite.Config{Dir: dir}, freshet.ErrDamaged, "freshet.db", "backup")
}

// A reader beside the writer sees what was written since it was opened, whatever
// it asks for.
func TestReaderKeepsUp(t *testing.T) {
	dir := filled(t, 1)
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	look := open(t, sqlite.Config{Dir: dir, ReadOnly: true})
	defer look.Close()
	for n := 2; n <= 5; n++ {
		if err := captureText(t.Context(), s, crashText("a", n)); err != nil {
			t.Fatal(err)
		}
		changes, err := look.Changes(t.Context(), freshet.ChangeQuery{Source: "a"})
		if err != nil || len(changes) != n-1 {
			t.Errorf("the reader sees %d changes of the source (%v), want %d", len(changes), err, n-1)
		}
		outcomes, err := look.Outcomes(t.Context(), freshet.OutcomeQuery{Source: "a", Newest: true})
		if err != nil || len(outcomes) != n || outcomes[0].Version != n {
			t.Errorf("the reader sees %d outcomes of the source (%v), want %d", len(outcomes), err, n)
		}
		seen := 0
		for w, err := range look.Sources(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			seen = w.Status.Head.Number
		}
		if seen != n {
			t.Errorf("the reader sees version %d in the list of sources, want %d", seen, n)
		}
	}
	for doing, err := range map[string]error{
		"adding a source": func() error {
			_, err := look.AddSource(t.Context(), freshet.Source{URL: "https://b.example/"})
			return err
		}(),
		"moving a place":  sinks.NewStore(look.DB()).Advance(t.Context(), "r", sinks.Position{Cursor: 1}, nil),
		"retiring":        sinks.NewStore(look.DB()).Retire(t.Context(), "r", "e", "gone"),
		"saving a belief": look.SaveState(t.Context(), []freshet.State{{Key: "x"}}),
		"beginning a poll": func() error {
			_, err := look.Begin(t.Context(), freshet.Poll{Source: freshet.Source{ID: "a"}, At: noon})
			return err
		}(),
	} {
		if !errors.Is(err, freshet.ErrStorage) || !strings.Contains(fmt.Sprint(err), "reading only") {
			t.Errorf("%s gives %v, want %v: it is open for reading only", doing, err, freshet.ErrStorage)
		}
	}
}

// A store is not opened without its features: their tables would be missing, or differ from the sources.
func TestNoStoreWithoutFeatures(t *testing.T) {
	dir := t.TempDir()
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}); !errors.Is(err, store.ErrNoFeatures) {
		t.Errorf("opening it gives %v, want %v", err, store.ErrNoFeatures)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("opening it leaves %v (%v)", files, err)
	}
}
