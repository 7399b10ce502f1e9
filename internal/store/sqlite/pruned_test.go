package sqlite_test

import (
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/store/sqlite"
	"freshet/internal/units"
)

// An attempt that is pruned while its poll is under way is not missed when that ends: the seal of attempts counts
// it once.
func TestAttemptIsPrunedDuringItsPoll(t *testing.T) {
	cfg := sqlite.Config{Features: features.All(), Dir: t.TempDir()}
	s := open(t, cfg)
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	source, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context(), freshet.Poll{Source: source, At: began}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), began.Add(units.Day), freshet.Keep{}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: "a", Began: began, Ended: began.Add(units.Day), Result: freshet.Failed, Failure: failure.Timeout, Requests: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := sqlite.Verify(t.Context(), cfg, nil)
	if err != nil || len(report.Damages) > 0 {
		t.Errorf("the store is found %v: %v", report.Damages, err)
	}
}
