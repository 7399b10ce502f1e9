package sqlite_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/search"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// seen commits a version of a source.
func seen(t testing.TB, s *sqlite.Store, id freshet.SourceID, at time.Time, text string) {
	t.Helper()
	_, _, err := s.Commit(t.Context(), freshet.Record{
		Outcome: freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.Changed, Status: 200, Requests: 1},
		Capture: &freshet.Capture{
			Recipe: reading.Recipe{}.Key(), Text: []byte(text), Hash: freshet.HashOf([]byte(text)),
			Raw: freshet.Raw{Status: 200, Header: http.Header{}, Body: []byte(text)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// indexAll brings the index of a store up to date.
func indexAll(t testing.TB, s *sqlite.Store) {
	t.Helper()
	for {
		left, err := s.Index(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
	}
}

// hits returns how many runs of versions have words.
func hits(t testing.TB, s *sqlite.Store, words string) int {
	t.Helper()
	r, err := s.Search(t.Context(), search.Request{Words: words})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Hits)
}

// An index of data that is not there any more, or that is damaged, is made anew.
func TestIndexIsMadeAnew(t *testing.T) {
	dir, old := t.TempDir(), filepath.Join(t.TempDir(), "old.db")
	open := func() *sqlite.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := open()
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	seen(t, s, "a", noon, "alpha")
	indexAll(t, s)
	if err := s.Backup(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	seen(t, s, "a", noon.Add(time.Hour), "beta")
	indexAll(t, s)
	if hits(t, s, "beta") != 1 {
		t.Fatal("the second version is not found")
	}
	s.Close()

	// An older copy is put back, and goes on otherwise.
	backup, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "freshet.db"), backup, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	seen(t, s, "a", noon.Add(time.Hour), "gamma")
	indexAll(t, s)
	if got := []int{hits(t, s, "alpha"), hits(t, s, "beta"), hits(t, s, "gamma")}; fmt.Sprint(got) != "[1 0 1]" {
		t.Errorf("after a restore alpha, beta and gamma are found %v times, want [1 0 1]", got)
	}
	s.Close()

	// A file that is no index, and one that is gone.
	if err := os.WriteFile(filepath.Join(dir, "search.db"), []byte(strings.Repeat("no index ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	indexAll(t, s)
	if hits(t, s, "gamma") != 1 {
		t.Error("after the index was damaged nothing is found")
	}
	if err := s.DropIndex(); err != nil || s.SearchSize() != 0 {
		t.Errorf("an index that was dropped has %d bytes: %v", s.SearchSize(), err)
	}
	indexAll(t, s)
	if hits(t, s, "gamma") != 1 || s.SearchSize() == 0 {
		t.Error("after the index was dropped nothing is found")
	}
	s.Close()

	// Who only reads can search, too.
	r, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if hits(t, r, "gamma") != 1 {
		t.Error("who only reads finds nothing")
	}
}

// Text of versions that were pruned leaves the index, also if it shares a row with text that stays.
func TestPrunedTextLeavesTheIndex(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	seen(t, s, "a", noon, "the password is swordfish\nthis line stays")
	indexAll(t, s)
	seen(t, s, "a", noon.Add(time.Minute), "this line stays\nanother")
	indexAll(t, s)
	if _, err := s.Prune(t.Context(), noon.Add(time.Hour), freshet.Keep{Versions: 1}, 0); err != nil {
		t.Fatal(err)
	}
	indexAll(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "search.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for word, want := range map[string]int{"swordfish": 0, "stays": 1, "another": 1} {
		var rows int
		if err := db.QueryRow("SELECT count(*) FROM words WHERE words MATCH ?", word).Scan(&rows); err != nil || rows != want {
			t.Errorf("%q is in %d rows of the index, want %d: %v", word, rows, want, err)
		}
	}
}

// A word that follows itself counts each time: of two texts of a length, the one that has it three times is first.
func TestRepeatedWordsCount(t *testing.T) {
	s := open(t, sqlite.Config{Dir: t.TempDir()})
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	texts := map[freshet.SourceID]string{"twice": "echo and echo and nothing", "thrice": "echo echo echo and nothing", "never": "and and and and and"}
	for n, id := range []freshet.SourceID{"thrice", "never", "twice"} { // the newest would be first, were they equal
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://a.example/" + string(id)}); err != nil {
			t.Fatal(err)
		}
		seen(t, s, id, noon.Add(time.Duration(n)*time.Minute), texts[id])
	}
	indexAll(t, s)
	r, err := s.Search(t.Context(), search.Request{Words: "echo"})
	if err != nil || len(r.Hits) != 2 || r.Hits[0].Source != "thrice" {
		t.Errorf("found are %+v, %v; want the text with three of the word first", r.Hits, err)
	}
}

// What waits for the index is found again by the next process, however many sources there are.
func TestIndexOfManySources(t *testing.T) {
	tier.Slow(t, "it has many sources")
	dir := t.TempDir()
	open := func() *sqlite.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	id := func(i int) freshet.SourceID { return freshet.SourceID(fmt.Sprintf("s%04d", i)) }
	const sources = 2050
	s := open()
	var crew sync.WaitGroup
	for from := range 50 {
		crew.Go(func() {
			for i := from; i < sources; i += 50 {
				if _, err := s.AddSource(t.Context(), freshet.Source{ID: id(i), URL: fmt.Sprintf("https://a.example/%d", i)}); err != nil {
					t.Error(err)
					return
				}
				seen(t, s, id(i), time.Now(), fmt.Sprintf("common number%d", i))
			}
		})
	}
	crew.Wait()
	if _, err := s.Index(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if left, err := s.Index(t.Context(), 100); err != nil || left != sources-200 {
		t.Errorf("of %d versions, 100 of which one process has indexed and 100 the next, %d are left: %v", sources, left, err)
	}
	if err := s.RemoveSource(t.Context(), id(7), true); err != nil {
		t.Fatal(err)
	}
	indexAll(t, s)
	for i, want := range map[int]int{0: 1, 7: 0, 999: 1, 1000: 1, 1001: 1, 2000: 1, sources - 1: 1} {
		if got := hits(t, s, fmt.Sprintf("number%d", i)); got != want {
			t.Errorf("source %d is found %d times, and not %d", i, got, want)
		}
	}
}

// BenchmarkIndex measures what a version of a page of 20 KiB costs the index, a tenth of
// whose lines are new, and how much room it takes.
func BenchmarkIndex(b *testing.B) {
	s, err := sqlite.Open(b.Context(), sqlite.Config{Features: features.All(), Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.AddSource(b.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		b.Fatal(err)
	}
	lines := make([]string, 200)
	write := func(i, n int) {
		lines[i] = fmt.Sprintf("line %d of the page in version %d says that item w%x costs %d and more words of a usual line of a page", i, n, n*7919+i, n)
	}
	for i := range lines {
		write(i, 0)
	}
	n, bytes := 0, 0
	for b.Loop() {
		b.StopTimer()
		for range 20 {
			n++
			for k := range 20 {
				write((n*20+k)%len(lines), n)
			}
			text := strings.Join(lines, "\n")
			bytes += len(text)
			seen(b, s, "a", time.Unix(int64(n), 0), text)
		}
		b.StartTimer()
		indexAll(b, s)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/version")
	b.ReportMetric(float64(s.SearchSize())/float64(n), "B/version")
	b.ReportMetric(float64(bytes)/float64(n), "text-B/version")
}
