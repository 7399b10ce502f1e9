package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// filled returns a directory with a store that has one source, a, with so many
// versions of a kilobyte and more.
func filled(t *testing.T, versions int) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= versions; n++ {
		if err := captureText(t.Context(), s, crashText("a", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// captureText commits a new version of source a.
func captureText(ctx context.Context, s *sqlite.Store, text []byte) error {
	_, _, err := s.Commit(ctx, freshet.Record{
		Outcome: freshet.Outcome{Source: "a", Began: noon, Ended: noon, Result: freshet.Changed},
		Capture: &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: text}},
	})
	return err
}

// refused fails the test unless opening gives target, with a hint.
func refused(t *testing.T, cfg sqlite.Config, target error, words ...string) {
	t.Helper()
	cfg.Features = features.All()
	s, err := sqlite.Open(t.Context(), cfg)
	if err == nil {
		s.Close()
		t.Fatal("the store was opened")
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("opening gives %v, want %v", err, target)
	}
	if freshet.HintOf(err) == "" {
		t.Errorf("there is no hint what to do about: %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error()+" "+freshet.HintOf(err), word) {
			t.Errorf("%q is not mentioned in: %v (%s)", word, err, freshet.HintOf(err))
		}
	}
}

func TestLock(t *testing.T) {
	dir := filled(t, 1)
	s := open(t, sqlite.Config{Dir: dir})
	refused(t, sqlite.Config{Dir: dir}, freshet.ErrBusy, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, sqlite.Config{Dir: dir})
	defer s.Close()
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "freshet.db"): 0o600, filepath.Join(dir, "freshet.lock"): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestNotADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, sqlite.Config{Dir: file}, nil, "not a directory")
	refused(t, sqlite.Config{Dir: filepath.Join(file, "under")}, nil, "not a directory")
}

func TestDamagedFile(t *testing.T) {
	t.Run("not a database", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "freshet.db"), []byte("hello, this is something else altogether"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, sqlite.Config{Dir: dir}, freshet.ErrDamaged, "freshet.db", ".recover")
	})
	t.Run("the schema overwritten", func(t *testing.T) {
		dir := filled(t, 5)
		overwrite(t, filepath.Join(dir, "freshet.db"), 100, bytes.Repeat([]byte{0xa5}, 3900))
		refused(t, sqlite.Config{Dir: dir}, freshet.ErrDamaged, "freshet.db", "backup")
	})
	t.Run("cut short", func(t *testing.T) {
		dir := filled(t, 200)
		path := filepath.Join(dir, "freshet.db")
		if err := os.Truncate(path, 20_000); err != nil {
			t.Fatal(err)
		}
		refused(t, sqlite.Config{Dir: dir}, freshet.ErrDamaged, "freshet.db")
	})
	t.Run("a body changed", func(t *testing.T) {
		dir := filled(t, 3)
		meddle(t, dir, "UPDATE bodies SET frame = zeroblob(length(frame)) WHERE id = 2")
		s := open(t, sqlite.Config{Dir: dir})
		defer s.Close()
		if _, err := s.Text(t.Context(), "a", 1); err != nil {
			t.Errorf("the version before: %v", err)
		}
		if _, err := s.Text(t.Context(), "a", 2); !errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("its text gives %v, want %v", err, freshet.ErrDamaged)
		}
		if _, err := s.Raw(t.Context(), "a", 3); !errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("a response that rests on it gives %v, want %v", err, freshet.ErrDamaged)
		}
		if err := s.Check(t.Context()); !errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("Check gives %v, want %v", err, freshet.ErrDamaged)
		}
		// The damage must not keep new versions out.
		if err := captureText(t.Context(), s, crashText("a", 4)); err != nil {
			t.Fatalf("capturing on top of a damaged version: %v", err)
		}
		if _, err := s.Text(t.Context(), "a", 4); err != nil {
			t.Errorf("the new version: %v", err)
		}
	})
}

func TestNewerSchema(t *testing.T) {
	dir := filled(t, 1)
	meddle(t, dir, "INSERT INTO schema_versions (version_id, is_applied) VALUES (999, 1)")
	refused(t, sqlite.Config{Dir: dir}, nil, "999", "newer")
	refused(t, sqlite.Config{Dir: dir, ReadOnly: true}, nil, "999", "newer")
	meddle(t, dir, "UPDATE schema_versions SET program = 'v7.8.9' WHERE version_id = 999")
	refused(t, sqlite.Config{Dir: dir}, nil, "999", "freshet v7.8.9")
}

func TestReadOnly(t *testing.T) {
	dir := filled(t, 3)
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	if _, err := s.Begin(t.Context(), freshet.Poll{Source: freshet.Source{ID: "a"}, At: noon.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	look := open(t, sqlite.Config{Dir: dir, ReadOnly: true})
	defer look.Close()
	if err := captureText(t.Context(), s, crashText("a", 4)); err != nil {
		t.Fatal(err)
	}
	w, err := look.Source(t.Context(), "a")
	if err != nil || w.Status.Polls != 4 || w.Status.Head.Number != 4 || !w.Status.Begun.Equal(noon.Add(time.Hour)) {
		t.Errorf("the source is seen as %+v, %v", w, err)
	}
	if text, err := look.Text(t.Context(), "a", 4); err != nil || !bytes.Equal(text, crashText("a", 4)) {
		t.Errorf("the newest version cannot be read: %v", err)
	}
	if last, err := look.LastChange(t.Context()); err != nil || last != 3 {
		t.Errorf("the log ends at %d, %v", last, err)
	}
	if err := captureText(t.Context(), look, nil); !errors.Is(err, freshet.ErrStorage) {
		t.Errorf("writing gives %v, want %v", err, freshet.ErrStorage)
	}
	refused(t, sqlite.Config{Dir: t.TempDir(), ReadOnly: true}, freshet.ErrNotFound)
}

// TestUnwritable runs this test as another user, who may read the directory
// and not write to it.
func TestUnwritable(t *testing.T) {
	dir := filled(t, 2)
	if os.Getuid() == 0 {
		asNobody(t, dir)
		return
	}
	unwritable(t, dir)
}

func asNobody(t *testing.T, dir string) {
	t.Helper()
	if given := os.Getenv("FRESHET_TEST_UNWRITABLE"); given != "" {
		t.Fatal("still root")
	}
	runuser, err := exec.LookPath("runuser")
	if err != nil {
		t.Skip("root may write everywhere, and there is no runuser to become somebody else")
	}
	for path := dir; path != filepath.Clean(os.TempDir()) && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "freshet.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(runuser, "-u", "nobody", "--", bin, "-test.run=^TestUnwritableChild$", "-test.v")
	cmd.Env = append(os.Environ(), "FRESHET_TEST_UNWRITABLE="+dir, "TMPDIR=/tmp")
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS: TestUnwritableChild")) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

func TestUnwritableChild(t *testing.T) {
	dir := os.Getenv("FRESHET_TEST_UNWRITABLE")
	if dir == "" {
		t.Skip("run by TestUnwritable")
	}
	unwritable(t, dir)
}

func unwritable(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 && os.Getenv("FRESHET_TEST_UNWRITABLE") == "" {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o700)
		os.Chmod(filepath.Join(dir, "freshet.lock"), 0o400)
	}
	refused(t, sqlite.Config{Dir: dir}, freshet.ErrStorage, dir)
	refused(t, sqlite.Config{Dir: filepath.Join(dir, "under")}, freshet.ErrStorage)
	s := open(t, sqlite.Config{Dir: dir, ReadOnly: true})
	defer s.Close()
	if text, err := s.Text(t.Context(), "a", 2); err != nil || !bytes.Equal(text, crashText("a", 2)) {
		t.Errorf("a version cannot be read: %v", err)
	}
}

// TestFullDisk fills a small file system. What was acknowledged stays, reads go
// on, and when there is room again so do writes.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "freshet-test", dir).CombinedOutput(); err != nil {
		t.Skipf("no small file system to fill: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmounting: %v: %s", err, out)
		}
	}()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 500_000), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, sqlite.Config{Dir: dir})
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	}()
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	acked := 0
	var err error
	for acked < 1000 && err == nil {
		if err = captureText(t.Context(), s, noise(acked+1)); err == nil {
			acked++
		}
	}
	if !errors.Is(err, freshet.ErrStorage) || !strings.Contains(freshet.HintOf(err), "full") {
		t.Fatalf("after %d versions: %v (%s), want %v and a hint", acked, err, freshet.HintOf(err), freshet.ErrStorage)
	}
	check := func() {
		t.Helper()
		w, err := s.Source(t.Context(), "a")
		if err != nil || w.Status.Head.Number != acked {
			t.Errorf("%d versions were acknowledged and %d are there: %v", acked, w.Status.Head.Number, err)
		}
		for n := 1; n <= acked; n++ {
			if text, err := s.Text(t.Context(), "a", n); err != nil || !bytes.Equal(text, noise(n)) {
				t.Errorf("version %d: %v", n, err)
			}
		}
	}
	check()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := captureText(t.Context(), s, noise(acked+1)); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	acked++
	check()
}

// noise returns twenty kilobytes that cannot be compressed, told by n.
func noise(n int) []byte {
	var b []byte
	h := freshet.HashOf([]byte{byte(n), byte(n >> 8)})
	for len(b) < 20_000 {
		h = freshet.HashOf(h[:])
		b = append(b, h[:]...)
	}
	return b
}

func TestBackup(t *testing.T) {
	dir := filled(t, 4)
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	other := t.TempDir()
	copied := filepath.Join(other, "freshet.db")
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), copied); !errors.Is(err, os.ErrExist) {
		t.Errorf("a backup over another gives %v, want %v", err, os.ErrExist)
	}
	b := open(t, sqlite.Config{Dir: other})
	defer b.Close()
	if err := b.Check(t.Context()); err != nil {
		t.Errorf("the backup: %v", err)
	}
	if text, err := b.Text(t.Context(), "a", 4); err != nil || !bytes.Equal(text, crashText("a", 4)) {
		t.Errorf("the newest version in the backup: %v", err)
	}
	if err := captureText(t.Context(), b, crashText("a", 5)); err != nil {
		t.Errorf("going on with the backup: %v", err)
	}
}

// overwrite changes bytes of a file.
func overwrite(t *testing.T, path string, at int64, with []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(with, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// meddle changes a closed store behind its back.
func meddle(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
