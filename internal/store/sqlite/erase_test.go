package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/store/sqlite"
)

// A purge leaves nothing of a source in the files: neither of the secrets in its URLs, the latest
// and those before, nor of what its versions say.
func TestPurgeErases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	const secret, word = "xq7secretxq7", "zzpurgedwordzz"
	at := time.Unix(1_700_000_000, 0)
	for i := range 300 { // around it, so that the pages of the database are shared
		if i == 150 {
			if _, err := s.AddSource(t.Context(), freshet.Source{ID: "gone", URL: "https://a.example/?token=" + secret + "0"}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: freshet.SourceID(fmt.Sprint("stays", i)), URL: fmt.Sprintf("https://b.example/%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		src := freshet.Source{ID: "gone", URL: fmt.Sprintf("https://a.example/%s?token=%s%d", strings.Repeat("x", i*50), secret, i)}
		if err := s.UpdateSource(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		seen(t, s, "gone", at.Add(time.Duration(2*i)*time.Hour), fmt.Sprintf("version %d says %s and %s", i, word, secret))
		failed := freshet.Outcome{Source: "gone", Began: at.Add(time.Duration(2*i+1) * time.Hour), Ended: at.Add(time.Duration(2*i+1) * time.Hour), Result: freshet.Failed, Failure: failure.Connect, Err: "no answer from " + src.URL, Requests: 1}
		if _, _, err := s.Commit(t.Context(), freshet.Record{Outcome: failed}); err != nil {
			t.Fatal(err)
		}
		seen(t, s, "stays1", at.Add(time.Duration(2*i)*time.Hour), fmt.Sprintf("version %d of another", i))
	}
	indexAll(t, s)
	if hits(t, s, word) == 0 || len(filesWith(t, dir, secret)) == 0 || len(filesWith(t, dir, word)) == 0 {
		t.Fatal("what is to be purged is not there")
	}
	if err := s.RemoveSource(t.Context(), "gone", true); err != nil {
		t.Fatal(err)
	}
	indexAll(t, s)
	for _, text := range []string{secret, word} {
		if left := filesWith(t, dir, text); len(left) > 0 {
			t.Errorf("after the purge %s is still in %v", text, left)
		}
	}
	if hits(t, s, "another") == 0 {
		t.Error("what was not purged is not found any more")
	}
}

// filesWith returns the files of a directory that contain a text.
func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			names = append(names, f.Name())
		}
	}
	return names
}
