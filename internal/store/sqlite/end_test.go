package sqlite_test

import (
	"sync"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// TestNothingIsReadPastTheEnd reads the logs while they grow. A place that was
// read is one that the log has: whoever goes on from it is not told that it lies
// past the end.
func TestNothingIsReadPastTheEnd(t *testing.T) {
	s := open(t, sqlite.Config{Dir: t.TempDir()})
	defer s.Close()
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	const captures = 600
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := range captures {
			if err := captureText(t.Context(), s, crashText("a", n)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer writing.Wait()
	for last := freshet.Cursor(0); last < captures-1; {
		changes, err := s.Changes(t.Context(), freshet.ChangeQuery{After: last})
		if err != nil {
			t.Fatal(err)
		}
		end, err := s.LastChange(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) > 0 {
			if last = changes[len(changes)-1].Cursor; last > end {
				t.Fatalf("change %d was read from a log that ends at %d", last, end)
			}
		}
		outcomes, err := s.Outcomes(t.Context(), freshet.OutcomeQuery{Newest: true, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if end, err := s.LastOutcome(t.Context()); err != nil || len(outcomes) > 0 && outcomes[0].Cursor > end {
			t.Fatalf("outcome %d was read from a log that ends at %d (%v)", outcomes[0].Cursor, end, err)
		}
	}
}
