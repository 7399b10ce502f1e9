package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// repaired repairs a store into a new directory, and holds the new one to what a
// repair promises. It returns the new directory and what was lost.
func repaired(t *testing.T, dir string) (string, []sqlite.Damage) {
	t.Helper()
	path := filepath.Join(dir, "freshet.db")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "new")
	r, err := sqlite.Repair(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}, into, nil)
	if err != nil {
		t.Errorf("repairing: %v", err)
		return "", nil
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the damaged store was touched: %v", err)
	}
	if err := checked(t, into); err != nil {
		t.Errorf("the new store: %v", err)
	}
	return into, r.Lost
}

// goesOn captures another version of source a on a repaired store, whose numbers
// must go on after those of the whole one.
func goesOn(t *testing.T, dir string, version, cursor int64) {
	t.Helper()
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	if _, err := s.Source(t.Context(), "a"); errors.Is(err, freshet.ErrNotFound) {
		return // the source itself is lost
	}
	text := []byte("a text that comes after the repair")
	o, c, err := s.Commit(t.Context(), freshet.Record{
		Outcome: freshet.Outcome{Source: "a", Began: noon, Ended: noon, Result: freshet.Changed},
		Capture: &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: text}},
	})
	if err != nil {
		t.Errorf("capturing after a repair: %v", err)
		return
	}
	if int64(o.Version) <= version || int64(c.Cursor) <= cursor {
		t.Errorf("after a repair there is version %d and the change at %d, which there were already: up to %d and %d", o.Version, c.Cursor, version, cursor)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("the new store after a capture: %v", err)
	}
}

// numbers returns the last version of source a and the last change.
func numbers(t *testing.T, dir string) (version, cursor int64) {
	t.Helper()
	return count(t, dir, "SELECT head FROM standings WHERE source = 1"), count(t, dir, "SELECT seq FROM sqlite_sequence WHERE name = 'changes'")
}

func TestRepair(t *testing.T) {
	dir := rich(t)
	version, cursor := numbers(t, dir)
	tests := []struct {
		name, meddling string
		lost           string   // said of what was lost
		saved          []string // queries whose answers are as before
	}{
		{"nothing", "", "", []string{"SELECT count(*) FROM versions", "SELECT count(*) FROM changes", "SELECT count(*) FROM outcomes", "SELECT sum(place) FROM places", "SELECT count(*) FROM debts"}},
		{"a change", "UPDATE changes SET summary = 'x' WHERE cursor = (SELECT max(cursor) FROM changes WHERE source = 1)", "of source a at cursor", []string{"SELECT count(*) - 1 FROM changes", "SELECT count(*) FROM versions"}},
		{"the newest changes", "PRAGMA foreign_keys = 0; DELETE FROM changes WHERE cursor > (SELECT max(cursor) - 5 FROM changes)", "of the changes are missing", []string{"SELECT count(*) FROM versions"}},
		{"an outcome", "UPDATE outcomes SET took = 1 WHERE cursor = (SELECT min(cursor) + 3 FROM outcomes)", "is not as it was written: it is lost", []string{"SELECT count(*) - 1 FROM outcomes"}},
		{"a body in the middle", "UPDATE bodies SET frame = zeroblob(length(frame)) WHERE id = (SELECT text FROM versions WHERE source = 1 ORDER BY number LIMIT 1 OFFSET 6)", "cannot be decoded", []string{"SELECT count(*) FROM versions WHERE source = 2"}},
		{"the newest body", "UPDATE bodies SET frame = zeroblob(length(frame)) WHERE id = (SELECT text FROM versions WHERE source = 1 ORDER BY number DESC LIMIT 1)", "cannot be decoded", []string{"SELECT count(*) - 1 FROM versions"}},
		{"all bodies of a source", "UPDATE bodies SET frame = zeroblob(3) WHERE source = 1", "cannot be decoded", []string{"SELECT count(*) FROM versions WHERE source = 2"}},
		{"an envelope", "UPDATE envelopes SET title = 'x' WHERE source = 1", "envelope", []string{"SELECT count(*) FROM versions WHERE source = 2"}},
		{"a place", "UPDATE places SET place = 1000000 WHERE reader = 'pager'", "the place of pager is not as it was written", []string{"SELECT count(*) FROM places"}},
		{"what is known of a source", "UPDATE standings SET head = 3, last_change = 1 WHERE source = 1", "it is rebuilt", []string{"SELECT count(*) FROM versions", "SELECT max(head) FROM standings"}},
		{"what a source says", `UPDATE sources SET definition = replace(definition, 'Source a', 'Source z') WHERE key = 1`, "source a is not as it was written: it is kept as it reads", []string{"SELECT count(*) FROM versions"}},
		{"a source", "UPDATE sources SET definition = '{' WHERE key = 2", "source b is not as it was written: it is lost, with its history", []string{"SELECT count(*) FROM versions WHERE source = 1"}},
		{"seals", "DELETE FROM seals", "the seal of", []string{"SELECT count(*) FROM outcomes"}},
		{"labels", "DELETE FROM labels", "labels has 0 rows", []string{"SELECT count(*) FROM changes"}},
		{"a page of a site", "UPDATE pages SET depth = 9 WHERE source = (SELECT min(source) FROM pages)", "of site site is not as it was written: it is lost", []string{"SELECT count(*) - 1 FROM pages", "SELECT count(*) FROM sources", "SELECT waiting FROM shelves"}},
		{"the count of pages", "UPDATE shelves SET base = 'x', waiting = 0", "they are counted again", []string{"SELECT count(*) FROM pages", "SELECT waiting FROM shelves", "SELECT count(*) FROM shelves WHERE base = 'https://site.example'"}},
		{"all shelves", "DELETE FROM shelves", "shelves has 0 rows", []string{"SELECT count(*) FROM pages", "SELECT waiting FROM shelves"}},
		{"a site", "UPDATE sources SET definition = '{' WHERE id = 'site'", "source site is not as it was written: it is lost", []string{"SELECT count(*) FROM versions", "SELECT count(*) FROM changes"}},
		{"what a page of a site says", "UPDATE sources SET definition = '{' WHERE key = (SELECT max(source) FROM pages)", "is not as it was written: it is lost", []string{"SELECT count(*) FROM pages", "SELECT watched - 1 FROM shelves"}},
		{"a table", "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'versions'", "a part of the versions cannot be read", []string{"SELECT count(*) FROM changes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			damaged := copied(t, dir)
			if tt.meddling != "" {
				meddle(t, damaged, tt.meddling)
			}
			into, lost := repaired(t, damaged)
			said := fmt.Sprint(lost)
			if !strings.Contains(said, tt.lost) || tt.lost == "" && len(lost) > 0 {
				t.Errorf("of what was lost it is said %q, want %q", said, tt.lost)
			}
			for _, query := range tt.saved {
				if got, want := count(t, into, strings.Replace(query, " - 1", "", 1)), count(t, dir, query); got != want {
					t.Errorf("%s: %d were saved, want %d", query, got, want)
				}
			}
			serves(t, into)
			goesOn(t, into, version, cursor)
		})
	}
	t.Run("into something that is there", func(t *testing.T) {
		if _, err := sqlite.Repair(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}, dir, nil); !errors.Is(err, os.ErrExist) {
			t.Errorf("repairing a store into itself gives %v, want %v", err, os.ErrExist)
		}
	})
	t.Run("while it is in use", func(t *testing.T) {
		s := open(t, sqlite.Config{Dir: dir})
		defer s.Close()
		if _, err := sqlite.Repair(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}, filepath.Join(t.TempDir(), "new"), nil); !errors.Is(err, freshet.ErrBusy) {
			t.Errorf("repairing a store that is in use gives %v, want %v", err, freshet.ErrBusy)
		}
	})
}

// Whole pages of a file are overwritten. What can be read is saved, and the new
// store is fine; a file whose schema is gone cannot be repaired, and that is said.
func TestRepairsPages(t *testing.T) {
	tier.Slow(t, "it repairs many stores")
	dir := rich(t)
	file, err := os.ReadFile(filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	draw, saved := rand.New(rand.NewPCG(3, 10)), 0
	rounds := tier.Seeds(6, 10, 30)
	if raced {
		rounds = 6
	}
	for range rounds {
		damaged, data := t.TempDir(), bytes.Clone(file)
		page := 1 + draw.IntN(len(data)/4096-1)
		for i := range 4096 {
			data[page*4096+i] = byte(draw.Uint32())
		}
		if err := os.WriteFile(filepath.Join(damaged, "freshet.db"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(t.TempDir(), "new")
		r, err := sqlite.Repair(t.Context(), sqlite.Config{Features: features.All(), Dir: damaged}, into, nil)
		if err != nil {
			if !errors.Is(err, freshet.ErrDamaged) {
				t.Errorf("page %d: %v", page, err)
			}
			continue
		}
		saved++
		if len(r.Lost) == 0 {
			for _, table := range []string{"sources", "versions", "changes", "outcomes", "places", "debts", "retired", "tombstones", "epochs", "labels", "attempts"} {
				if was, now := count(t, dir, "SELECT count(*) FROM "+table), count(t, into, "SELECT count(*) FROM "+table); was != now {
					t.Errorf("page %d was lost, and with it %d of %d rows of %s, and nothing is said of it", page, was-now, was, table)
				}
			}
		}
		serves(t, into)
		goesOn(t, into, 0, 0)
	}
	if saved < rounds*2/3 {
		t.Errorf("only %d of %d stores could be repaired", saved, rounds)
	}
	t.Logf("%d of %d stores were repaired", saved, rounds)
}
