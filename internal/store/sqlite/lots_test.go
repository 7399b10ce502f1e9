package sqlite_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// Versions of many sources are verified together. A body whose pages cannot be read is a
// damage of its own source, and all others are verified as ever.
func TestUnreadableBodyIsOfItsSource(t *testing.T) {
	const sources, broken = 5, 3
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var deep []byte // in the middle of the body that is to be broken
	draw := rand.NewChaCha8([32]byte{1})
	for i := range sources {
		id := freshet.SourceID(fmt.Sprint("source", i))
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://a.example/" + string(id)}); err != nil {
			t.Fatal(err)
		}
		raw := make([]byte, 64<<10) // by chance, so that it is stored as it is
		draw.Read(raw)
		if i == broken {
			deep = raw[32<<10:][:64]
		}
		text, at := []byte("text of "+string(id)), time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC)
		_, _, err := s.Commit(t.Context(), freshet.Record{
			Outcome: freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.First, Requests: 1},
			Capture: &freshet.Capture{Raw: freshet.Raw{Status: 200, Body: raw}, Text: text, Hash: freshet.HashOf(text)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := sqlite.Verify(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}, nil)
	if err != nil || len(whole.Damages) > 0 || whole.Bodies != 2*sources {
		t.Fatalf("%+v: %v", whole, err)
	}
	breakChain(t, filepath.Join(dir, "freshet.db"), deep)
	r, err := sqlite.Verify(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows > whole.Rows {
		t.Errorf("%d rows were looked at, and there are %d", r.Rows, whole.Rows)
	}
	named := map[freshet.SourceID]int{}
	for _, d := range r.Damages {
		named[d.Source]++
	}
	if named["source3"] != 1 || len(named) > 2 || r.Bodies < 2*(sources-1) || r.Bodies > 2*sources {
		t.Errorf("damages by source are %v, and %d bodies were verified; want one of source3, and all bodies of the others once", named, r.Bodies)
	}
}

// breakChain lets the page with these bytes be followed by one that is not there.
func breakChain(t *testing.T, file string, with []byte) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.BigEndian.Uint16(content[16:]))
	at := bytes.Index(content, with)
	if at < 0 || size < 512 {
		t.Fatalf("the body is not in the file as it is; pages have %d bytes", size)
	}
	page := at / size * size
	binary.BigEndian.PutUint32(content[page:], 0x7fffffff)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
