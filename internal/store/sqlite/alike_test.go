package sqlite_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// A body that only looks like one that is there, by its length and its checksum, is stored.
func TestBodiesThatLookAlike(t *testing.T) {
	cfg := sqlite.Config{Features: features.All(), Dir: t.TempDir()}
	s := open(t, cfg)
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{noise(1), noise(2), noise(3)}
	for _, text := range texts[:2] {
		if err := captureText(t.Context(), s, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	meddle(t, cfg.Dir, fmt.Sprintf("UPDATE bodies SET sum = %d WHERE id = 1", int64(xxhash.Sum64(texts[2]))))
	s = open(t, cfg)
	defer s.Close()
	if err := captureText(t.Context(), s, texts[2]); err != nil {
		t.Fatal(err)
	}
	for number := 2; number <= 3; number++ {
		if got, err := s.Text(t.Context(), "a", number); err != nil || !bytes.Equal(got, texts[number-1]) {
			t.Errorf("version %d comes back as %d bytes, which are another text or none: %v", number, len(got), err)
		}
	}
}

// An entry of a log leaves out what it has nothing to say of at its end. That is NULL then,
// as its checksum has it, only because the columns have no other defaults.
func TestColumnsOfLogsHaveNoDefaults(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, sqlite.Config{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, log := range []string{"outcomes", "changes"} {
		if n := count(t, dir, "SELECT count(*) FROM pragma_table_info('"+log+"') WHERE \"notnull\" = 0 AND dflt_value IS NOT NULL"); n != 0 {
			t.Errorf("of the columns of %s that can be NULL %d have a default", log, n)
		}
	}
}
