package sqlite_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// The end of the log in memory is what is on disk, also when more has been logged
// than memory holds, and whoever reads it from anywhere misses nothing.
func TestTailOfALongLog(t *testing.T) {
	tier.Slow(t, "it writes a long log")
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 250, 45 // more than twice what the tail holds
	for i := range writers {
		id := freshet.SourceID(fmt.Sprintf("s%03d", i))
		if _, err := store.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://a.example/" + string(id)}); err != nil {
			t.Fatal(err)
		}
	}
	var writing sync.WaitGroup
	var early, kept []freshet.Outcome // a page that is read before most of the log is written
	for i := range writers {
		writing.Go(func() {
			for n := range each {
				at := noon.Add(time.Duration(n) * time.Minute)
				_, _, err := store.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{
					Source: freshet.SourceID(fmt.Sprintf("s%03d", i)), Began: at, Ended: at.Add(time.Second), Status: 200, Requests: 1,
				}})
				if err != nil {
					t.Errorf("commit: %v", err)
				}
			}
		})
	}
	if err := store.WaitOutcome(t.Context(), 200); err != nil {
		t.Fatal(err)
	}
	if early, err = store.Outcomes(t.Context(), freshet.OutcomeQuery{After: 100, Limit: 100}); err != nil {
		t.Fatal(err)
	}
	kept = slices.Clone(early)
	writing.Wait()
	if diff := cmp.Diff(kept, early); diff != "" {
		t.Errorf("outcomes that were read change afterwards:\n%s", diff)
	}
	read := func(s *sqlite.Store, after freshet.Cursor, limit int) []freshet.Outcome {
		found, err := s.Outcomes(t.Context(), freshet.OutcomeQuery{After: after, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	places := []freshet.Cursor{0, 1, 3000, writers*each - 8192, writers*each - 4097, writers*each - 4096, writers*each - 4095, writers*each - 10, writers*each - 1}
	inMemory := map[freshet.Cursor][]freshet.Outcome{}
	for _, p := range places {
		inMemory[p] = read(store, p, 100)
	}
	if n := len(read(store, 0, 0)); n != writers*each {
		t.Errorf("the log has %d outcomes, want %d", n, writers*each)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, p := range places {
		onDisk := read(again, p, 100)
		if diff := cmp.Diff(onDisk, inMemory[p]); diff != "" || len(onDisk) == 0 || onDisk[0].Cursor != p+1 {
			t.Errorf("after place %d memory has other outcomes than the disk (-disk +memory):\n%s", p, diff)
		}
	}
}

// What a prune takes out of the log is not in memory either.
func TestTailIsPruned(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		at := noon.Add(time.Duration(i) * time.Hour)
		if _, _, err := store.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: "a", Began: at, Ended: at, Requests: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Prune(t.Context(), noon.Add(10*time.Hour), freshet.Keep{}, 4*time.Hour); err != nil {
		t.Fatal(err)
	}
	left, err := store.Outcomes(t.Context(), freshet.OutcomeQuery{After: 2})
	if err != nil || len(left) != 4 || left[0].Cursor != 7 {
		t.Errorf("after the prune the log has %v (%v), want the last four", left, err)
	}
}
