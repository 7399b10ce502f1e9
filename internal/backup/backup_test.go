package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/internal/backup"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// open opens the store of a directory.
func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// capture adds versions to a source.
func capture(t *testing.T, s *sqlite.Store, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		text := version(n)
		_, _, err := s.Commit(t.Context(), freshet.Record{
			Outcome: freshet.Outcome{Source: "a", Began: noon, Ended: noon.Add(time.Duration(n) * time.Minute), Result: freshet.Changed, Requests: 1},
			Capture: &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Method: "GET", Status: 200, Body: text}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// version is a text that has little in common with others.
func version(n int) []byte {
	var b bytes.Buffer
	for i := range 400 {
		fmt.Fprintf(&b, "%x ", freshet.HashOf(fmt.Append(nil, n, i)))
	}
	return b.Bytes()
}

// filled returns a data directory with files, and its store, which stays open.
func filled(t *testing.T) (string, *sqlite.Store) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	capture(t, s, 0, 60)
	for name, text := range map[string]string{"secret.key": "a key", "secrets/one": "a secret", "freshet.addr": "left out", "settings.json": "{}"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, s
}

func source(dir string) *backup.Source {
	now := noon
	return &backup.Source{Data: dir, Features: features.All(), Program: "test", Now: func() time.Time {
		now = now.Add(time.Hour)
		return now
	}}
}

func restore(dir string) *backup.Restore {
	return &backup.Restore{Data: dir, Features: features.All(), Now: func() time.Time { return noon }}
}

// holds fails the test unless a directory has so many versions, and the other files.
func holds(t *testing.T, dir string, versions int) {
	t.Helper()
	s := open(t, dir)
	defer s.Close()
	for n := range versions {
		if text, err := s.Text(t.Context(), "a", n+1); err != nil || !bytes.Equal(text, version(n)) {
			t.Fatalf("version %d: %v", n+1, err)
		}
	}
	if _, err := s.Text(t.Context(), "a", versions+1); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("version %d: %v", versions+1, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"secret.key": "a key", "secrets/one": "a secret", "settings.json": "{}"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if text, _ := os.ReadFile(filepath.Join(dir, name)); string(text) != want || err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %q: %v", name, text, err)
		}
	}
}

// Backups of a store in use are of one moment each, write only what is new, and can be restored.
func TestRepository(t *testing.T) {
	dir, s := filled(t)
	r, err := backup.OpenRepository(filepath.Join(t.TempDir(), "backups"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	from, first := source(dir), int64(0)
	var names []string
	for i, versions := range []int{60, 61, 62} {
		if i > 0 {
			capture(t, s, versions-1, versions)
		}
		name, m, err := r.Backup(t.Context(), from)
		if err != nil || len(m.Files) != 4 {
			t.Fatalf("a backup is %+v: %v", m, err)
		}
		names = append(names, name)
		if i == 0 {
			first = r.Written
		} else if r.Written > first/2 {
			t.Errorf("backup %d writes %d bytes, and the first %d", i, r.Written, first)
		}
	}
	if chunks, err := r.Verify(t.Context()); err != nil || chunks < 5 {
		t.Errorf("%d chunks: %v", chunks, err)
	}
	if done, err := r.Drill(t.Context(), features.All(), nil); err != nil || done.Rows < 60 || done.Bodies < 60 {
		t.Errorf("a drill gives %+v: %v", done, err)
	}
	for i, name := range names {
		into := filepath.Join(t.TempDir(), "data")
		if done, err := restore(into).FromRepository(t.Context(), r, name); err != nil || done.Kept != "" {
			t.Fatalf("a restore gives %+v: %v", done, err)
		}
		holds(t, into, 60+i)
		if _, err := os.Stat(filepath.Join(into, "freshet.addr")); err == nil {
			t.Error("the address of the daemon was restored")
		}
	}
	if n, err := r.Forget(1); err != nil || n != 2 {
		t.Errorf("%d backups are deleted: %v", n, err)
	}
	if _, err := r.Verify(t.Context()); err != nil {
		t.Errorf("what is left is %v", err)
	}
	if done, err := r.Drill(t.Context(), features.All(), nil); err != nil || done.Bodies < 62 {
		t.Errorf("what is left is %+v: %v", done, err)
	}
}

// A backup that is cut off is no backup, and the next one goes on: it writes what is missing.
func TestCutOff(t *testing.T) {
	dir, _ := filled(t)
	at := filepath.Join(t.TempDir(), "backups")
	r, err := backup.OpenRepository(at, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	half := source(dir)
	half.Say = func(done, of int64) {
		if done > of/2 {
			cancel()
		}
	}
	if _, _, err := r.Backup(ctx, half); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ends with %v", err)
	}
	written := r.Written
	if names, err := r.List(); err != nil || len(names) != 0 || written == 0 {
		t.Errorf("there are the backups %v and %d bytes: %v", names, written, err)
	}
	if _, _, err := r.Manifest(""); !errors.Is(err, freshet.ErrNotFound) || !strings.Contains(freshet.HintOf(err), "freshet backup "+at) {
		t.Errorf("the newest of no backups is %v (%s)", err, freshet.HintOf(err))
	}
	if _, _, err := r.Backup(t.Context(), source(dir)); err != nil {
		t.Fatal(err)
	}
	again := r.Written
	whole, err := backup.OpenRepository(filepath.Join(t.TempDir(), "other"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if _, _, err := whole.Backup(t.Context(), source(dir)); err != nil || written+again != whole.Written {
		t.Errorf("%d bytes and then %d were written, want %d in all: %v", written, again, whole.Written, err)
	}
	if _, err := backup.OpenRepository(at, true); !errors.Is(err, freshet.ErrBusy) {
		t.Errorf("two backups at the same time: %v", err)
	}
}

// A damaged backup is found, and never replaces anything.
func TestDamage(t *testing.T) {
	dir, _ := filled(t)
	at := filepath.Join(t.TempDir(), "backups")
	r, err := backup.OpenRepository(at, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := r.Backup(t.Context(), source(dir)); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if _, err := source(dir).Archive(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	target, _ := filled(t)
	refused := func(what string, restored func(*backup.Restore) error) {
		t.Helper()
		into := restore(target)
		into.Replace = true
		if err := restored(into); !errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
		if left, _ := filepath.Glob(filepath.Join(target, "re*-*")); len(left) > 0 {
			t.Errorf("%s leaves %v", what, left)
		}
	}
	if err := open(t, t.TempDir()).Close(); err != nil {
		t.Fatal(err)
	}
	var chunks []string
	err = filepath.WalkDir(filepath.Join(at, "chunks"), func(path string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			chunks = append(chunks, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	busy := restore(target)
	busy.Replace = true
	if _, err := busy.FromRepository(t.Context(), r, ""); !errors.Is(err, freshet.ErrBusy) {
		t.Fatalf("a restore under a daemon that runs: %v", err)
	}
	target = t.TempDir()
	for i, path := range chunks {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			bad := bytes.Clone(good)
			bad[len(bad)/2] ^= 1
			err = os.WriteFile(path, bad, 0o600)
		} else {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Verify(t.Context()); !errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("chunk %d: Verify gives %v", i, err)
		}
		refused(fmt.Sprint("chunk ", i), func(into *backup.Restore) error {
			_, err := into.FromRepository(t.Context(), r, "")
			return err
		})
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, cut := range []int{0, 10, archive.Len() / 2, archive.Len() - 20} {
		refused(fmt.Sprintf("an archive of %d of %d bytes", cut, archive.Len()), func(into *backup.Restore) error {
			_, err := into.FromArchive(t.Context(), bytes.NewReader(archive.Bytes()[:cut]))
			return err
		})
	}
	if _, err := restore(target).FromArchive(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	holds(t, target, 60)
}

// What a restore replaces is kept, with the log of the database.
func TestReplace(t *testing.T) {
	dir, _ := filled(t)
	var archive bytes.Buffer
	if _, err := source(dir).Archive(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	target, s := filled(t)
	capture(t, s, 60, 65)
	for _, file := range []string{"freshet.db", "freshet.db-wal"} { // as a crash leaves them
		text, err := os.ReadFile(filepath.Join(target, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(target, file+".crashed"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"freshet.db", "freshet.db-wal"} {
		if err := os.Rename(filepath.Join(target, file+".crashed"), filepath.Join(target, file)); err != nil {
			t.Fatal(err)
		}
	}
	into := restore(target)
	if _, err := into.FromArchive(t.Context(), bytes.NewReader(archive.Bytes())); !errors.Is(err, freshet.ErrConflict) || !strings.Contains(freshet.HintOf(err), "--replace") {
		t.Fatalf("a restore over data: %v", err)
	}
	into.Replace = true
	done, err := into.FromArchive(t.Context(), bytes.NewReader(archive.Bytes()))
	if err != nil || done.Kept == "" {
		t.Fatalf("a restore gives %+v: %v", done, err)
	}
	holds(t, target, 60)
	holds(t, done.Kept, 65)
}
