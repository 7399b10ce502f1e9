package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// TestPruneShrinks gives the room of what was dropped back to the file system.
func TestPruneShrinks(t *testing.T) {
	cfg := sqlite.Config{Features: features.All(), Dir: t.TempDir()}
	s := open(t, cfg)
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	for n := range 400 {
		if err := captureText(t.Context(), s, noise(n)); err != nil {
			t.Fatal(err)
		}
	}
	before := reopened(t, &s, cfg)
	done, err := s.Prune(t.Context(), noon, freshet.Keep{Versions: 2}, 0)
	if err != nil || done.Versions != 398 || done.Bytes < 398*20_000 {
		t.Errorf("%+v was dropped, %v; want 398 versions of 20 kB", done, err)
	}
	for _, name := range []string{"freshet.db", "freshet.db-wal"} { // while the store stays open
		if f, err := os.Stat(filepath.Join(cfg.Dir, name)); err != nil {
			t.Error(err)
		} else if f.Size() > before.File/5 {
			t.Errorf("%s has %d bytes afterwards, of %d", name, f.Size(), before.File)
		}
	}
	after := reopened(t, &s, cfg)
	defer s.Close()
	if after.File > before.File/5 || after.Bodies > 50_000 {
		t.Errorf("the store went from %+v to %+v, want it to shrink", before, after)
	}
	if text, err := s.Text(t.Context(), "a", 399); err != nil || !bytes.Equal(text, noise(398)) {
		t.Errorf("a version that stayed: %v", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPruneKeepsChains drops versions that later ones were encoded against.
func TestPruneKeepsChains(t *testing.T) {
	dir := filled(t, 130)
	s := open(t, sqlite.Config{Dir: dir, CacheBytes: 1})
	defer s.Close()
	for keep := 120; keep > 0; keep -= 17 {
		if _, err := s.Prune(t.Context(), noon, freshet.Keep{Versions: keep}, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatalf("with %d versions left: %v", keep, err)
		}
		versions, err := s.Versions(t.Context(), "a", freshet.Between{}, 0, 0)
		if err != nil || len(versions) != keep {
			t.Fatalf("%d versions are left, want %d: %v", len(versions), keep, err)
		}
		for _, v := range versions {
			if text, err := s.Text(t.Context(), "a", v.Number); err != nil || !bytes.Equal(text, crashText("a", v.Number)) {
				t.Errorf("version %d: %v", v.Number, err)
			}
		}
		if n := count(t, dir, "SELECT count(*) FROM bodies b JOIN bodies c ON c.id = b.base WHERE b.depth < c.depth + 1"); n != 0 {
			t.Errorf("with %d versions left %d bodies count too few of those they rest on", keep, n)
		}
	}
}

// A bound on the whole store drops the oldest versions, of all sources alike and
// never the newest of one, until the pages in use fit; and the file shrinks.
func TestPruneTotal(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	ids := []freshet.SourceID{"a", "b", "quiet"}
	n := 0
	put := func(id freshet.SourceID, at time.Time) {
		t.Helper()
		n++
		text := noise(n)
		_, _, err := s.Commit(t.Context(), freshet.Record{
			Outcome: freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.Changed},
			Capture: &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: text}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"}); err != nil {
			t.Fatal(err)
		}
		put(id, noon)
	}
	for m := range 100 {
		put("a", noon.Add(time.Duration(m)*time.Minute))
		put("b", noon.Add(time.Duration(m)*time.Minute+time.Second))
	}
	const most = 1_500_000
	done, err := s.Prune(t.Context(), noon, freshet.Keep{Total: most}, 0)
	if err != nil || done.Versions == 0 {
		t.Fatalf("pruning to %d bytes drops %+v: %v", most, done, err)
	}
	left := map[freshet.SourceID]int{}
	for _, id := range ids {
		versions, err := s.Versions(t.Context(), id, freshet.Between{}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		left[id] = len(versions)
	}
	if left["quiet"] != 1 || left["a"] < 25 || left["b"] < 25 || left["a"]-left["b"] > 2 || left["b"]-left["a"] > 2 {
		t.Errorf("there are %v versions left, want the one of quiet, and as many of a as of b", left)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if done, err := s.Prune(t.Context(), noon, freshet.Keep{Total: 1}, 0); err != nil || done.Versions != left["a"]+left["b"]-2 {
		t.Errorf("pruning to nothing drops %+v (%v), want all but the newest", done, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "freshet.db")); err != nil || info.Size() > 600_000 {
		t.Errorf("the file has %d bytes after all but three versions have gone: %v", info.Size(), err)
	}
}
